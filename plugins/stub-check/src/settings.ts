import { availableParallelism } from 'node:os'
import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  exclude: t.array(t.string({ minLength: 1, maxLength: 200 }), {
    default: [],
    maxItems: 200,
    description: 'Glob patterns of paths that are not scanned, next to the built-in ones.',
    'x-reload': 'live'
  }),
  disabled_rules: t.array(t.string({ minLength: 1, maxLength: 100 }), {
    default: [],
    maxItems: 100,
    description: 'Ids of rules, or of groups such as scaling, that are not applied.',
    'x-reload': 'live'
  }),
  suppressions: t.string({
    default: 'stub-check.suppressions.json',
    minLength: 1,
    description: 'File of suppressions, relative to the project. It need not exist.',
    'x-reload': 'live'
  }),
  require_rationale: t.boolean({
    default: false,
    description: 'Whether a suppression in a comment must give a reason of at least 20 characters.',
    'x-reload': 'live'
  }),
  safe_mode: t.boolean({
    default: false,
    description: 'Whether fixes are only shown, never written.',
    'x-guards': true,
    'x-reload': 'live'
  }),
  threads: t.optional(
    t.integer({
      minimum: 1,
      maximum: 64,
      description: 'Threads of a scan. Default: one per core, at most 8.',
      'x-reload': 'live'
    })
  ),
  max_file_kib: t.integer({
    default: 1_024,
    minimum: 1,
    maximum: 16_384,
    description: 'Size in KiB from which files are not scanned.',
    'x-reload': 'live'
  }),
  file_timeout_ms: t.integer({
    default: 10_000,
    minimum: 100,
    maximum: 600_000,
    description: 'Time limit per file in milliseconds.',
    'x-reload': 'live'
  }),
  cache: t.boolean({
    default: true,
    description: 'Whether results are kept in the database for files that did not change.',
    'x-reload': 'live'
  }),
  max_rust_parse_failures: t.optional(
    t.string({
      'x-env': 'SVC_STUBCHECK_MAX_RUST_PARSE_FAILURES',
      description:
        'Rust files that may fail to parse in svc ci scaling-audit; a number from 0. Anything else: no limit.',
      'x-reload': 'live'
    })
  ),
  secret_guard_git_ref: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_SECRET_GUARD_GIT_REF',
      description: 'Git range whose changed files svc ci secret-env-guard scans. Default: HEAD.',
      'x-reload': 'live'
    })
  ),
  build_timings_budget_warn: t.boolean({
    default: false,
    'x-env': 'SVC_BUILD_TIMINGS_BUDGET_WARN',
    description: 'Whether svc ci build-timings prints lanes that exceed their budget or have none.',
    'x-reload': 'live'
  }),
  build_timings_budget_fail: t.boolean({
    default: false,
    'x-env': 'SVC_BUILD_TIMINGS_BUDGET_FAIL',
    description: 'Whether svc ci build-timings fails for such lanes.',
    'x-reload': 'live'
  }),
  skip_cuda_feature_check: t.boolean({
    default: false,
    'x-env': 'SKIP_CUDA_FEATURE_CHECK',
    description: 'Whether svc ci build-timings leaves out the lane for CUDA.',
    'x-reload': 'live'
  })
})

export type Settings = Infer<typeof settings>

/** Threads of a scan if the settings name no number. */
export const DEFAULT_THREADS = Math.min(8, availableParallelism())
