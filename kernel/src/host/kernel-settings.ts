import { type Infer, type Permissions, t } from '@svc/plugin-sdk'
import type { UnitPolicy } from '../core/activate.ts'

const live = { 'x-reload': 'live' } as const
const milliseconds = { minimum: 1, maximum: 86_400_000, ...live } as const

/** The kernel's own settings: the table `[kernel]`. */
export const kernelSchema = t.object(
  {
    plugin_directories: t.array(t.string({ minLength: 1 }), {
      default: [],
      description: 'Folders with plugins, in addition to installed packages; relative to the project.',
      ...live
    }),
    only: t.optional(
      t.array(t.string({ minLength: 1 }), {
        description: 'Run these plugins and what they require, and no others; `--only` replaces it.'
      })
    ),
    watch: t.boolean({
      default: true,
      description: 'Whether a server reloads plugins and configuration when their files change.'
    }),
    log_level: t.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      default: 'info',
      description: 'The least severe level that is logged.',
      ...live
    }),
    log_format: t.optional(
      t.enum(['pretty', 'json'], { description: 'Without it pretty on a terminal and JSON elsewhere.' })
    ),
    activate_timeout_ms: t.integer({
      default: 30_000,
      description: 'Time limit for activating a plugin, unless its own settings override it.',
      ...milliseconds
    }),
    describe_timeout_ms: t.integer({
      default: 5_000,
      minimum: 1,
      maximum: 86_400_000,
      description: 'Time limit for the module body of an unbuilt plugin when its manifest is read.'
    }),
    drain_timeout_ms: t.integer({
      default: 30_000,
      description: 'Time limit for running calls after their plugin was replaced or removed.',
      ...milliseconds
    }),
    data_directory: t.optional(
      t.string({ description: 'Absolute path of the folder for data that projects share.', 'x-env': 'SVC_DATA_DIR' })
    ),
    repository_id: t.optional(
      t.string({ description: 'Label of the repository in queues and daemon answers.', 'x-env': 'SVC_REPOSITORY_ID' })
    ),
    repository_root: t.optional(
      t.string({
        description: 'Folder of the project that is served, relative to svc.toml; without it the folder of svc.toml.',
        'x-env': ['SVC_REPO_ROOT', 'SVC_REPOSITORY_ROOT']
      })
    )
  },
  { 'x-reload': 'restart' }
)

export type KernelSettings = Infer<typeof kernelSchema>

const paths = (description: string) => t.optional(t.array(t.string(), { description }))
const flag = (description: string) => t.optional(t.boolean({ description }))

/** Settings of the kernel for each plugin, next to the plugin's own keys in `[plugins.NAME]`. */
export const policySchema = t.object({
  enabled: t.optional(t.boolean({ description: 'Whether the plugin is loaded.', ...live })),
  isolation: t.enum(['in-process', 'worker', 'process'], {
    default: 'in-process',
    description: 'Where the plugin runs. Elsewhere only its operations and filtered hooks can be reached.'
  }),
  required: t.boolean({ default: false, description: 'Whether the kernel refuses to start without it.', ...live }),
  on_boot_failure: t.optional(
    t.enum(['abort', 'continue', 'retry'], {
      description: 'Action after a failed start. Default: abort if required, else the default of the plugin.',
      ...live
    })
  ),
  uncaught: t.enum(['degrade', 'restart', 'abort-process'], {
    default: 'degrade',
    description: 'Action after an uncaught error of the plugin.',
    ...live
  }),
  activate_timeout_ms: t.optional(t.integer({ description: 'Overrides kernel.activate_timeout_ms.', ...milliseconds })),
  drain_timeout_ms: t.optional(t.integer({ description: 'Overrides kernel.drain_timeout_ms.', ...milliseconds })),
  breaker: t.object({
    failures: t.integer({
      default: 5,
      minimum: 0,
      description: 'Faults within the window that switch an operation off; 0 never does.'
    }),
    window_ms: t.integer({ default: 30_000, minimum: 1, description: 'Window in which faults are counted.' }),
    half_open_ms: t.integer({ default: 10_000, minimum: 1, description: 'Time before one call is let through.' })
  }),
  memory_mb: t.optional(t.integer({ minimum: 16, description: 'Heap limit of a worker or process, in MiB.' })),
  permissions: t.optional(
    t.object({
      fs_read: paths('Paths that an isolated plugin may read.'),
      fs_write: paths('Paths that an isolated plugin may write.'),
      child_process: flag('Whether it may start processes.'),
      worker: flag('Whether it may start workers.'),
      native_addons: flag('Whether it may load native addons.'),
      env: paths('Environment variables that it can read.')
    })
  )
})

export type PolicySettings = Infer<typeof policySchema>

/** The policy of one plugin, with the kernel's settings filled in. */
export function toPolicy(
  choices: PolicySettings,
  kernel: KernelSettings,
  wished: UnitPolicy['onBootFailure'] = 'retry'
): UnitPolicy {
  const { breaker, permissions } = choices
  return {
    isolation: choices.isolation,
    onBootFailure: choices.on_boot_failure ?? (choices.required ? 'abort' : wished),
    uncaught: choices.uncaught,
    activateTimeoutMs: choices.activate_timeout_ms ?? kernel.activate_timeout_ms,
    drainTimeoutMs: choices.drain_timeout_ms ?? kernel.drain_timeout_ms,
    breaker: { failures: breaker.failures, windowMs: breaker.window_ms, halfOpenMs: breaker.half_open_ms },
    memoryMb: choices.memory_mb ?? null,
    permissions: permissions === undefined ? null : toPermissions(permissions)
  }
}

function toPermissions(granted: NonNullable<PolicySettings['permissions']>): Permissions {
  const camel = (key: string): string => key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(granted).map(([key, value]) => [camel(key), value]))
}

export const RESERVED_KEYS: ReadonlySet<string> = new Set(Object.keys(policySchema.properties as object))
