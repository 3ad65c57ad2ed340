package console

// CommandWithClock is [Command] with another clock.
var CommandWithClock = command
