-- One gate.
SELECT * FROM gate WHERE id = %(gate)s
