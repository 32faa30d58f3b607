SELECT upper(who), cost::DOUBLE, calls.city FROM calls
