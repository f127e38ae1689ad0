# One image for the worker and for people's commands. The agents' own programs are not in it: build FROM this
# image and add them.
FROM python:3.13-slim

RUN apt-get update \
 && apt-get install --yes --no-install-recommends git \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 weighlock \
 && install -d -o weighlock -m 700 /var/lib/weighlock

COPY . /usr/src/weighlock
RUN pip install --no-cache-dir --constraint /usr/src/weighlock/constraints.txt /usr/src/weighlock \
 && rm -rf /usr/src/weighlock

USER weighlock
ENV TASKS_STATE=/var/lib/weighlock
VOLUME /var/lib/weighlock
WORKDIR /home/weighlock
ENTRYPOINT ["tasks"]
CMD ["--help"]
