"""What applications and operators ask of the gateway: submissions, jobs, the inbox, operations."""
