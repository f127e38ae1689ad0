# An agent of the soak: agent.sh PLACE MODE... appends one line to the file of its item, and the first time it may do
# something else as well, as the mode of its item says. It keeps a journal, the only witness that is not ours.
place=$1
shift
echo "$TASKS_ATTEMPT $TASKS_ITEM" >> "$place/journal"
number=${TASKS_ITEM#P}
eval "mode=\${$number}"
if [ -e "$place/quiet" ] || ! mkdir "$place/marks/$TASKS_TASK-$TASKS_ITEM" 2> /dev/null; then
  mode=clean
fi
echo "$TASKS_ITEM" >> "$number.txt"
case $mode in
  fail) exit 3 ;;
  outside) echo more > "more-$number.txt" ;;
  unsafe)
    ln -s /etc/passwd "link-$number"
    echo "$TASKS_ATTEMPT unsafe" >> "$place/journal"
    ;;
  slow) sleep 1 ;;
  hang) exec sleep 600 ;;
esac
