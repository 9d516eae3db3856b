//! What has become of one figure.

/// A figure of A and of B; none where it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The run before.
    pub a: Option<u64>,
    /// The run that is held against it.
    pub b: Option<u64>,
}

/// How long the two runs were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// A, in ns.
    pub a_ns: u64,
    /// B, in ns.
    pub b_ns: u64,
}

impl Lengths {
    /// Whether they are the same but for 1 %, so that sums can be compared as they are.
    pub fn are_equal(self) -> bool {
        let longer = self.a_ns.max(self.b_ns);
        u128::from(self.a_ns.abs_diff(self.b_ns)) * 100 <= u128::from(longer)
    }
}

impl Change {
    /// B less A; saturates.
    pub fn difference(self) -> Option<i64> {
        let (a, b) = (self.a?, self.b?);
        let size = i64::try_from(a.abs_diff(b)).unwrap_or(i64::MAX);
        Some(if b < a { -size } else { size })
    }

    /// The same as percent of A; none of what was nothing, unless it is still nothing.
    pub fn percent(self) -> Option<f64> {
        percent(self.a? as f64, self.b? as f64)
    }

    /// What there was in each second of the runs.
    pub fn rates(self, lengths: Lengths) -> Option<(f64, f64)> {
        let rate = |sum: u64, ns: u64| (ns > 0).then(|| sum as f64 * 1e9 / ns as f64);
        Some((rate(self.a?, lengths.a_ns)?, rate(self.b?, lengths.b_ns)?))
    }

    /// B's rate less A's.
    pub fn rate_difference(self, lengths: Lengths) -> Option<f64> {
        self.rates(lengths).map(|(a, b)| b - a)
    }

    /// The same as percent of A's.
    pub fn rate_percent(self, lengths: Lengths) -> Option<f64> {
        self.rates(lengths).and_then(|(a, b)| percent(a, b))
    }
}

fn percent(a: f64, b: f64) -> Option<f64> {
    match (a, b) {
        (0.0, 0.0) => Some(0.0),
        (0.0, _) => None,
        (a, b) => Some(100.0 * (b - a) / a),
    }
}
