import type { ConfigProblem } from '@svc/contracts'
import type { PluginManifest } from '@svc/plugin-sdk'
import { kernelSchema, policySchema, RESERVED_KEYS } from '../host/kernel-settings.ts'
import { problem } from './problem.ts'
import { declaredSettings, propertiesOf } from './schema.ts'
import type { Owner } from './settle.ts'
import { keyText } from './toml.ts'

/** What configuration needs to know of a plugin. */
export type ConfigurablePlugin = Pick<
  PluginManifest,
  'name' | 'config' | 'provides' | 'enabledByDefault' | 'onBootFailure'
>

export interface Registered {
  readonly plugin: ConfigurablePlugin
  readonly owner: Owner
  readonly policyOwner: Owner
  readonly problems: readonly ConfigProblem[]
}

export interface Registry {
  readonly kernel: Owner
  readonly plugins: readonly Registered[]
  /** Top-level table to plugin. */
  readonly sections: ReadonlyMap<string, string>
  /** Variable to the key that it sets. */
  readonly variables: ReadonlyMap<string, string>
}

const kernelOwner: Owner = {
  name: 'kernel',
  kind: 'kernel',
  prefix: ['kernel'],
  schema: kernelSchema,
  declared: declaredSettings(kernelSchema)
}
const policyDeclared = declaredSettings(policySchema)

/** Who declares what. The first to claim a table or a variable has it; a later claim is that plugin's problem. */
export function register(plugins: readonly ConfigurablePlugin[]): Registry {
  const sections = new Map<string, string>()
  const variables = new Map<string, string>()
  for (const { path, env } of kernelOwner.declared)
    for (const name of env) variables.set(name, keyText(['kernel', ...path]))
  const registered = plugins.map((plugin): Registered => {
    const { name, config: schema } = plugin
    const problems: ConfigProblem[] = []
    const section = typeof schema['x-section'] === 'string' ? schema['x-section'] : undefined
    const taken = section === 'kernel' || section === 'plugins' ? 'the kernel' : sections.get(section ?? '')
    if (section !== undefined && taken !== undefined) {
      const message = `plugin ${name} declares the table [${section}], which belongs to ${taken}`
      problems.push(problem('error', 'CFG_SECTION_CONFLICT', message, undefined, section))
    }
    const prefix = section === undefined || taken !== undefined ? ['plugins', name] : [section]
    if (prefix[0] === section) sections.set(section as string, name)
    else {
      for (const key of Object.keys(propertiesOf(schema)).filter(key => RESERVED_KEYS.has(key))) {
        const message = `plugin ${name} declares the setting "${key}", which the kernel keeps for itself`
        const hint = 'rename the setting, or give the schema an x-section'
        problems.push(problem('error', 'CFG_KEY_RESERVED', message, undefined, keyText([...prefix, key]), hint))
      }
    }
    const declared = declaredSettings(schema).map(setting => {
      const key = keyText([...prefix, ...setting.path])
      const free = setting.env.filter(variable => {
        const other = variables.get(variable)
        if (other === undefined) variables.set(variable, key)
        else {
          const message = `${variable} is declared for ${other} and again for ${key} by plugin ${name}`
          problems.push(problem('error', 'CFG_ENV_CONFLICT', message, undefined, key, 'one variable sets one setting'))
        }
        return other === undefined
      })
      return { ...setting, env: free }
    })
    return {
      plugin,
      owner: { name, kind: 'settings', prefix, schema, declared },
      policyOwner: { name, kind: 'policy', prefix: ['plugins', name], schema: policySchema, declared: policyDeclared },
      problems
    }
  })
  return { kernel: kernelOwner, plugins: registered, sections, variables }
}
