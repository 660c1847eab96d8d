import { type Infer, type Permissions, t } from '@svc/plugin-sdk'
import type { UnitPolicy } from '../core/activate.ts'

const live = { 'x-reload': 'live' } as const
const milliseconds = { minimum: 1, maximum: 86_400_000, ...live } as const

/** Schema of the table `[kernel]`. */
export const kernelSchema = t.object(
  {
    plugin_directories: t.array(t.string({ minLength: 1 }), {
      default: [],
      description: 'Folders with plugins in addition to installed packages, relative to the project.',
      ...live
    }),
    only: t.optional(
      t.array(t.string({ minLength: 1 }), {
        description: 'Run only these plugins and their requirements. `--only` overrides this setting.'
      })
    ),
    watch: t.boolean({
      default: true,
      description: 'Reload plugins and configuration when their files change. Applies to servers.'
    }),
    log_level: t.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      default: 'info',
      description: 'Lowest level of log lines to write.',
      ...live
    }),
    log_format: t.optional(
      t.enum(['pretty', 'json'], { description: 'Format of log lines. Default: pretty on a terminal, otherwise JSON.' })
    ),
    activate_timeout_ms: t.integer({
      default: 30_000,
      description: 'Time limit for activating a plugin, unless the settings of the plugin override it.',
      ...milliseconds
    }),
    describe_timeout_ms: t.integer({
      default: 5_000,
      minimum: 1,
      maximum: 86_400_000,
      description: 'Time limit for running the module body of an unbuilt plugin to read its manifest.'
    }),
    drain_timeout_ms: t.integer({
      default: 30_000,
      description: 'Time that running calls have to finish after their plugin was replaced or removed.',
      ...milliseconds
    }),
    tap_timeout_ms: t.integer({
      default: 5_000,
      minimum: 1,
      maximum: 86_400_000,
      description: 'Time limit for each tap on a hook, unless the hook declares another one.'
    }),
    data_directory: t.optional(
      t.string({
        description: 'Absolute path of the folder for data that several projects share.',
        'x-env': 'SVC_DATA_DIR'
      })
    ),
    private_state: t.boolean({
      default: true,
      description:
        'Remove the permissions of other users from the state folder (.vox) when a server starts. False keeps them, for example for a group.'
    }),
    repository_id: t.optional(
      t.string({
        description:
          'Name of the repository in queues and daemon responses. Default: `default` for queues of messages, else the folder and a hash of its path.',
        'x-env': 'SVC_REPOSITORY_ID'
      })
    ),
    repository_root: t.optional(
      t.string({
        description: 'Root folder of the project, relative to svc.toml. Default: the folder of svc.toml.',
        'x-env': ['SVC_REPO_ROOT', 'SVC_REPOSITORY_ROOT']
      })
    )
  },
  { 'x-reload': 'restart' }
)

export type KernelSettings = Infer<typeof kernelSchema>

const paths = (description: string) => t.optional(t.array(t.string(), { description }))
const flag = (description: string) => t.optional(t.boolean({ description }))

/** Schema of the kernel's settings for a plugin, which share `[plugins.NAME]` with the plugin's own settings. */
export const policySchema = t.object({
  enabled: t.optional(t.boolean({ description: 'Load the plugin.', ...live })),
  isolation: t.enum(['in-process', 'worker', 'process'], {
    default: 'in-process',
    'x-guards': true,
    description:
      'Where the plugin runs. In a worker or process, it offers only operations, hook taps, health checks and contributions that are data.'
  }),
  required: t.boolean({ default: false, description: 'Fail the start if the plugin cannot run.', ...live }),
  on_boot_failure: t.optional(
    t.enum(['abort', 'continue', 'retry'], {
      description: 'Action if the plugin fails to start. Default: abort if required, else the default of the plugin.',
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
      description: 'Number of faults within the window that disable an operation. 0 turns the breaker off.'
    }),
    window_ms: t.integer({ default: 30_000, minimum: 1, description: 'Window in which faults are counted.' }),
    half_open_ms: t.integer({
      default: 10_000,
      minimum: 1,
      description: 'Time that the operation stays disabled before a probe call is admitted.'
    })
  }),
  memory_mb: t.optional(t.integer({ minimum: 16, description: 'Heap limit of a worker or process, in MiB.' })),
  permissions: t.optional(
    t.object(
      {
        fs_read: paths('Paths that an isolated plugin may read.'),
        fs_write: paths('Paths that an isolated plugin may write.'),
        child_process: flag('Allow an isolated plugin to start processes.'),
        worker: flag('Allow an isolated plugin to start workers.'),
        native_addons: flag('Allow an isolated plugin to load native addons.'),
        env: paths('Environment variables that an isolated plugin may read.'),
        secrets: paths('Environment variables of secrets that an isolated plugin may declare.')
      },
      { 'x-guards': true }
    )
  )
})

export type PolicySettings = Infer<typeof policySchema>

/** Returns the policy of a plugin. Timeouts default to those of the kernel. */
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
