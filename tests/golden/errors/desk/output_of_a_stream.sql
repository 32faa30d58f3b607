OUTPUT clicks
