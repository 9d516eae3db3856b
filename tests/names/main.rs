//! Names against the kernel's own word: every `sched_switch` says the comm of two tasks at that
//! instant, and the cmdline cache, which is fed by the task events alone, must agree.

#[cfg(test)]
mod compare;
#[cfg(test)]
mod live;
#[cfg(test)]
mod recordings;
#[cfg(test)]
mod text;
