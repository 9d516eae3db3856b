//! Cgroups and command lines, as far as they are asked for.

use std::path::Path;
use std::sync::Arc;

use crate::cmdline_cache::proc::PidNamespace;
use crate::cmdline_cache::{Cgroups, CmdlineCache, Cmdlines, Hierarchy};
use crate::event::Texts;
use crate::pipeline::{Filters, StreamTexts, TextCondition, TextFilter};
use crate::symbols::Kallsyms;

use super::config::RecordConfig;
use super::exit::Usage;

/// Room for the paths of all cgroups of a large machine, and for as many command lines.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// What is kept of tasks beyond their names.
#[derive(Debug)]
pub(super) struct Facts {
    hierarchy: Option<Hierarchy>,
    /// Whether cgroups are this machine's, and can be looked for.
    is_here: bool,
    /// Where the paths of cgroups are, and the command lines.
    texts: StreamTexts,
}

impl Facts {
    /// What a run needs to keep.
    pub(super) fn new(config: &RecordConfig) -> Result<Facts, Usage> {
        let hierarchy = config.plan.cgroups.then(Hierarchy::find).transpose();
        let hierarchy = hierarchy.map_err(|error| Usage(format!("cgroups: {error}")))?;
        Ok(Facts { is_here: true, ..Facts::of_recording(config, hierarchy) })
    }

    /// What a recording needs to keep; `hierarchy`: whose cgroups it tells.
    pub(super) fn of_recording(config: &RecordConfig, hierarchy: Option<Hierarchy>) -> Facts {
        let texts = |wanted: bool| wanted.then(|| Arc::new(Texts::new(MAX_TEXT_BYTES)));
        let cgroups = texts(hierarchy.is_some());
        let cmdlines = texts(config.wanted.cmdline().is_some());
        Facts { hierarchy, is_here: false, texts: StreamTexts { cgroups, cmdlines } }
    }

    /// All filters of a run.
    pub(super) fn filters(
        &self,
        config: &RecordConfig,
        symbols: &Arc<Kallsyms>,
    ) -> Result<Filters, Usage> {
        let mut filters = config.wanted.filters(symbols, &config.plan.extras)?;
        if let (Some(regex), Some(texts)) = (config.wanted.cmdline(), &self.texts.cmdlines) {
            let condition = TextCondition::Matches(regex.clone());
            filters.cmdline = Some(TextFilter::new(condition, Arc::clone(texts)));
        }
        let asked = config.wanted.cgroups();
        if let (Some(hierarchy), Some(paths)) = (&self.hierarchy, &self.texts.cgroups)
            && !asked.is_empty()
        {
            let found = asked.iter().map(|cgroup| {
                if !self.is_here {
                    return Ok(Path::new("/").join(cgroup));
                }
                let path = hierarchy.path_of(cgroup);
                path.map_err(|error| Usage(format!("-G {}: {error}", cgroup.display())))
            });
            let condition = TextCondition::IsWithin(found.collect::<Result<_, _>>()?);
            filters.cgroup = Some(TextFilter::new(condition, Arc::clone(paths)));
        }
        Ok(filters)
    }

    /// A cache that keeps them, at most `bound` of each.
    pub(super) fn kept_in(
        &self,
        cache: CmdlineCache,
        bound: usize,
        namespace: PidNamespace,
    ) -> CmdlineCache {
        let cgroups = self.hierarchy.clone().zip(self.texts.cgroups.clone());
        let cgroups = cgroups.map(|(hierarchy, paths)| Cgroups::new(hierarchy, paths, bound));
        let cmdlines = self.texts.cmdlines.clone().map(|texts| Cmdlines::new(texts, bound));
        cache.with_facts(cgroups, cmdlines, namespace)
    }

    /// The hierarchy of cgroups, if they are asked for.
    pub(super) fn hierarchy(&self) -> Option<&Hierarchy> {
        self.hierarchy.as_ref()
    }

    /// Where the stream finds them.
    pub(super) fn texts(&self) -> &StreamTexts {
        &self.texts
    }
}
