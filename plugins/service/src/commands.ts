import { type CommandDescriptor, t } from '@svc/plugin-sdk'

/** The command line passes options as they are: `options.ts` checks them and adds defaults. */
export const NAME = '^[a-z][a-z0-9-]{0,63}$'
export const CREDENTIAL = '^[A-Za-z0-9_-][A-Za-z0-9_.-]*:/[^\\n]+$'
export const MEMORY = '^([1-9][0-9]*[KMGT]?|[1-9][0-9]?%|100%)$'
export const DEFAULT_NAME = 'svc'
export const DEFAULT_MEMORY = '80%'

const user = t.boolean({ default: false, description: 'Your own service, without root.' })
const name = t.string({
  default: DEFAULT_NAME,
  pattern: NAME,
  description: 'Name of the service.'
})

export const installInput = t.object({
  user,
  name,
  profile: t.optional(t.string({ minLength: 1, description: 'Profile to serve, such as model-server.' })),
  run_as: t.optional(t.string({ minLength: 1, description: 'User that runs svc. Default: the owner of the project.' })),
  credential: t.array(t.string({ pattern: CREDENTIAL }), {
    default: [],
    description: 'NAME:FILE, readable as secret://file/NAME; repeatable; only systemd.'
  }),
  memory_max: t.string({
    default: DEFAULT_MEMORY,
    pattern: MEMORY,
    description: 'Memory above which the service is restarted, such as 8G; only systemd.'
  }),
  gpu: t.boolean({ default: false, description: 'Let the service use GPUs; only systemd needs it.' }),
  start: t.boolean({ default: true, description: 'Start the service now, not only with the machine.' }),
  dry_run: t.boolean({ default: false, description: 'Print the file, and change nothing.' })
})

export const uninstallInput = t.object({ user, name })
export const statusInput = t.object({ user, name })

export const installCommand: CommandDescriptor = {
  command: 'service install',
  summary: 'Start svc when the machine starts, by systemd or launchd',
  input: installInput,
  ownFlags: ['profile'],
  tolerant: true
}

export const uninstallCommand: CommandDescriptor = {
  command: 'service uninstall',
  summary: 'Stop the service and remove its file',
  input: uninstallInput,
  tolerant: true
}

export const statusCommand: CommandDescriptor = {
  command: 'service status',
  summary: 'Show whether the service runs',
  input: statusInput,
  tolerant: true
}
