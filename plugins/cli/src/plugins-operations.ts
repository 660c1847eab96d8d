import { adminErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { callerProblems } from './caller-problems.ts'

const name = t.string({ minLength: 1, description: 'Plugin name', 'x-complete': 'plugins' })
const names = t.array(name, { minItems: 1, description: 'Plugin names' })
const dryRun = t.boolean({ default: false, description: 'Only print the planned changes' })

const ADMIN = ['kernel.admin']

const { KRN_PLUGIN_UNKNOWN, CLI_NO_DAEMON } = adminErrors.specs

const pluginReport = t.object({
  name: t.string(),
  version: t.string(),
  summary: t.string(),
  state: t.string(),
  generation: t.nullable(t.integer()),
  isolation: t.enum(['in-process', 'worker', 'process']),
  operations: t.integer(),
  hooks: t.integer(),
  inFlight: t.integer(),
  calls: t.integer({ description: 'Calls of operations since the start of the process' }),
  failures: t.integer({ description: 'Calls that ended with an error' }),
  activateMs: t.nullable(t.number()),
  why: t.nullable(t.string()),
  hint: t.nullable(t.string()),
  refused: t.boolean({ description: 'True if the last change was refused and the previous version serves' }),
  location: t.string()
})

export const pluginsList = defineOperation({
  id: 'kernel.plugins.list',
  summary: 'List plugins with their states',
  input: t.object({}),
  output: t.object({
    plugins: t.array(pluginReport),
    serving: t.boolean({
      description: 'True if a running server reported the states, false if the plugins were read from disk'
    }),
    note: t.string()
  }),
  effect: 'read',
  watch: { on: ['kernel.plugins', 'kernel.generation'] },
  expose: {
    http: { method: 'GET', path: '/kernel/plugins' },
    rpc: true,
    cli: {
      command: 'plugins list',
      view: {
        rows: 'plugins',
        columns: [
          'name',
          'version',
          'state',
          'generation',
          'isolation',
          'operations',
          'hooks',
          'inFlight',
          'activateMs',
          'why',
          'hint'
        ],
        note: 'note'
      }
    }
  }
})

export const generationsList = defineOperation({
  id: 'kernel.generations.list',
  summary: 'List the last changes of the running plugins',
  input: t.object({}),
  output: t.object({
    generations: t.array(
      t.object({
        generation: t.integer({ description: 'Number; of a refused change, the generation that continued to serve' }),
        time: t.string({ format: 'date-time' }),
        cause: t.string(),
        ms: t.number({ description: 'Milliseconds until it served or was refused' }),
        changes: t.string({ description: 'Summary, or the error of a refused change' }),
        added: t.array(t.string()),
        replaced: t.array(t.string()),
        removed: t.array(t.string()),
        kept: t.array(t.string()),
        refused: t.nullable(t.object({ code: t.nullable(t.string()), message: t.string() }))
      }),
      { description: 'Newest first, at most 100' }
    ),
    note: t.string()
  }),
  effect: 'read',
  watch: { on: ['kernel.generation'] },
  expose: {
    rpc: true,
    cli: {
      command: 'plugins generations',
      view: { rows: 'generations', columns: ['generation', 'time', 'ms', 'cause', 'changes'], note: 'note' }
    }
  }
})

export const pluginsConflicts = defineOperation({
  id: 'kernel.plugins.conflicts',
  summary: 'List keys and names that several plugins claim',
  input: t.object({}),
  output: t.object({
    keys: t.array(
      t.object({
        key: t.string({ description: 'For example operation notes.add, service clock@1' }),
        claims: t.array(t.object({ plugin: t.string(), state: t.string() })),
        used: t.nullable(t.string(), { description: 'Plugin that has the key now' }),
        detail: t.string()
      })
    ),
    names: t.array(
      t.object({
        name: t.string(),
        used: t.string({ description: 'Folder of the package that is used' }),
        shadowed: t.string({ description: 'Folder of the ignored package' })
      })
    ),
    text: t.string()
  }),
  effect: 'read',
  watch: { on: ['kernel.plugins', 'kernel.generation'] },
  expose: { rpc: true, cli: { command: 'plugins conflicts', view: { text: 'text' } } }
})

const permissions = t.object({
  fsRead: t.optional(t.array(t.string())),
  fsWrite: t.optional(t.array(t.string())),
  childProcess: t.optional(t.boolean()),
  worker: t.optional(t.boolean()),
  nativeAddons: t.optional(t.boolean()),
  env: t.optional(t.array(t.string())),
  secrets: t.optional(t.array(t.string()))
})

export const pluginsPermissions = defineOperation({
  id: 'kernel.plugins.permissions',
  summary: 'Show what a plugin may access',
  input: t.object({ name }),
  output: t.object({
    plugin: t.string(),
    isolation: t.enum(['in-process', 'worker', 'process']),
    requested: permissions,
    granted: t.nullable(permissions, { description: 'Permissions in svc.toml, which replace the requested ones' }),
    effective: t.nullable(permissions, {
      description: 'Permissions in force; null in the process of svc, where the plugin may do what svc may'
    }),
    text: t.string()
  }),
  errors: { KRN_PLUGIN_UNKNOWN },
  effect: 'read',
  watch: { on: ['kernel.config', 'kernel.generation'] },
  expose: { rpc: true, cli: { command: 'plugins permissions', args: ['name'], view: { text: 'text' } } }
})

export const pluginsGraph = defineOperation({
  id: 'kernel.plugins.graph',
  summary: 'Show which plugins use services of which others',
  input: t.object({
    dot: t.boolean({ default: false, description: 'Print Graphviz source' }),
    mermaid: t.boolean({ default: false, description: 'Print Mermaid source' })
  }),
  output: t.object({
    text: t.string(),
    edges: t.array(
      t.object({
        from: t.string(),
        token: t.string(),
        to: t.nullable(t.string()),
        kind: t.enum(['requires', 'optional', 'ref', 'after'])
      })
    )
  }),
  effect: 'read',
  expose: { rpc: true, cli: { command: 'plugins graph', view: { text: 'text' } } }
})

export const pluginsWhy = defineOperation({
  id: 'kernel.plugins.why',
  summary: 'Explain the state of a plugin or a service',
  input: t.object({
    subject: t.string({ minLength: 1, description: 'Plugin name or service token', 'x-complete': 'plugins' }),
    callerProblems
  }),
  output: t.object({ reasons: t.array(t.string()), text: t.string() }),
  effect: 'read',
  expose: { rpc: true, cli: { command: 'plugins why', args: ['subject'], view: { text: 'text' } } }
})

export const pluginsHooks = defineOperation({
  id: 'kernel.plugins.hooks',
  summary: 'List hooks with their triggers and taps',
  input: t.object({}),
  output: t.object({
    hooks: t.array(
      t.object({
        id: t.string(),
        kind: t.enum(['observe', 'refuse', 'change', 'answer'], {
          description: 'Capability of taps: observe, refuse by throwing, change the payload, or answer with a result'
        }),
        owner: t.string({ description: 'Plugin that declares and triggers the hook, or kernel' }),
        summary: t.string({ description: 'When the hook is triggered' }),
        onError: t.enum(['fail', 'skip'], {
          description: 'Effect of an error in a tap: it is thrown to the caller (fail), or logged and ignored (skip)'
        }),
        payload: t.record(t.string(), { description: 'Descriptions of the payload fields' }),
        fields: t.array(t.string(), { description: 'Names of the payload fields' }),
        taps: t.array(t.string(), { description: 'Plugins that tap the hook, in order of execution' })
      })
    ),
    note: t.string()
  }),
  effect: 'read',
  expose: {
    rpc: true,
    cli: {
      command: 'plugins hooks',
      view: { rows: 'hooks', columns: ['id', 'kind', 'owner', 'onError', 'taps', 'summary', 'fields'], note: 'note' }
    }
  }
})

export const pluginsEffects = defineOperation({
  id: 'kernel.plugins.effects',
  summary: 'Print everything that a plugin has registered, as a tree',
  input: t.object({ name }),
  output: t.object({ text: t.string(), tree: t.unknown() }),
  errors: { KRN_PLUGIN_UNKNOWN },
  effect: 'read',
  expose: { rpc: true, cli: { command: 'plugins effects', args: ['name'], view: { text: 'text' } } }
})

export const pluginsTop = defineOperation({
  id: 'kernel.plugins.top',
  summary: 'Show CPU time by plugin over a sampling window',
  input: t.object({
    seconds: t.number({ default: 2, minimum: 0.1, maximum: 60, description: 'Length of the window' })
  }),
  output: t.object({
    plugins: t.array(t.object({ plugin: t.string(), cpuMs: t.number(), share: t.number(), calls: t.integer() }))
  }),
  errors: { CLI_NO_DAEMON },
  effect: 'read',
  timeoutMs: 90_000,
  expose: {
    rpc: true,
    cli: { command: 'plugins top', view: { rows: 'plugins', columns: ['plugin', 'cpuMs', 'share', 'calls'] } }
  }
})

const changeReport = t.object({
  applied: t.boolean(),
  generation: t.integer(),
  add: t.array(t.string()),
  replace: t.array(t.string()),
  remove: t.array(t.string()),
  keep: t.array(t.string()),
  steps: t.array(t.string()),
  text: t.string()
})

const change = {
  output: changeReport,
  errors: { KRN_PLUGIN_UNKNOWN, CLI_NO_DAEMON },
  scopes: ADMIN,
  timeoutMs: 120_000,
  // A tap of a plugin must not prevent that it is disabled or replaced.
  untapped: 'names'
} as const

const persistent = t.object({
  names,
  persist: t.boolean({ default: true, description: "Store the setting in the project's svc.toml" }),
  dryRun
})

export const pluginsEnable = defineOperation({
  id: 'kernel.plugins.enable',
  summary: 'Enable plugins',
  input: persistent,
  ...change,
  expose: { rpc: true, cli: { command: 'plugins enable', args: ['names'], view: { text: 'text' } } }
})

export const pluginsDisable = defineOperation({
  id: 'kernel.plugins.disable',
  summary: 'Disable plugins',
  input: persistent,
  ...change,
  expose: { rpc: true, cli: { command: 'plugins disable', args: ['names'], view: { text: 'text' } } }
})

export const pluginsReload = defineOperation({
  id: 'kernel.plugins.reload',
  summary: 'Reload the code of plugins without dropping a request',
  input: t.object({ names, dryRun }),
  ...change,
  expose: { rpc: true, cli: { command: 'plugins reload', args: ['names'], view: { text: 'text' } } }
})

export const scaffoldErrors = {
  CLI_DIRECTORY_EXISTS: { status: 409, message: 'The folder is not empty.' },
  CLI_NAME_TAKEN: { status: 409, message: 'Another plugin already has this name.' },
  CLI_DIRECTORY_OUTSIDE: { status: 400, message: 'The folder is outside the project.' }
} as const

export const pluginsNew = defineOperation({
  id: 'kernel.plugins.new',
  summary: 'Scaffold a plugin package',
  input: t.object({
    name: t.string({
      pattern: '^[a-z][a-z0-9-]{0,63}$',
      description: 'Plugin name: lower-case letters, digits and hyphens; the first character is a letter',
      examples: ['weather']
    }),
    directory: t.optional(
      t.string({ minLength: 1, description: 'Folder to create; default plugins/NAME in the project' })
    ),
    page: t.boolean({ default: false, description: 'Add pages to the console: one declared, one drawn by code' })
  }),
  output: t.object({ directory: t.string(), files: t.array(t.string()), text: t.string() }),
  errors: scaffoldErrors,
  scopes: ADMIN,
  expose: { cli: { command: 'plugins new', args: ['name', 'directory'], view: { text: 'text' } } }
})

export const pluginsBuild = defineOperation({
  id: 'kernel.plugins.build',
  summary: 'Build a plugin package for publishing',
  input: t.object({ directory: t.string({ default: '.', minLength: 1, description: 'Folder of the package' }) }),
  output: t.object({ name: t.string(), version: t.string(), files: t.array(t.string()), text: t.string() }),
  scopes: ADMIN,
  expose: { cli: { command: 'plugins build', args: ['directory'], view: { text: 'text' } } }
})

const finding = t.object({
  subject: t.string(),
  status: t.enum(['ok', 'warning', 'error']),
  detail: t.string(),
  hint: t.nullable(t.string())
})

export const pluginsDoctor = defineOperation({
  id: 'kernel.plugins.doctor',
  summary: 'Check every plugin: manifest, dependencies, configuration, health',
  input: t.object({}),
  output: t.object({ healthy: t.boolean(), findings: t.array(finding) }),
  effect: 'read',
  expose: {
    rpc: true,
    cli: { command: 'plugins doctor', view: { rows: 'findings', columns: ['status', 'subject', 'detail', 'hint'] } }
  }
})

export const doctor = defineOperation({
  id: 'kernel.doctor',
  summary: 'Check this installation: runtime, folders, configuration, plugins',
  input: t.object({}),
  output: t.object({ healthy: t.boolean(), findings: t.array(finding) }),
  effect: 'read',
  expose: {
    rpc: true,
    cli: { command: 'doctor', view: { rows: 'findings', columns: ['status', 'subject', 'detail', 'hint'] } }
  }
})
