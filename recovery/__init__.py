"""Put every interrupted task where a worker or a person can act."""
