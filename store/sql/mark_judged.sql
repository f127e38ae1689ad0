-- Say that what an agent left in a workspace has been judged, once.
UPDATE allocation SET unjudged = false WHERE id = %(allocation)s AND unjudged RETURNING *
