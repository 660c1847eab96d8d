import { declareSections, editorSchema, type Group, type Registry, type Section } from '@svc/config'
import { secretBackend, secretsResolver } from '@svc/contracts'
import type { JsonSchema, PluginManifest } from '@svc/plugin-sdk'
import { kernelSchema, policySchema, RESERVED_KEYS } from './kernel-settings.ts'

/** Part of a manifest that the configuration uses. */
export type ConfigurablePlugin = Pick<
  PluginManifest,
  'name' | 'config' | 'provides' | 'enabledByDefault' | 'onBootFailure'
>

export const KERNEL_SECTION = 'kernel'

export function settingsSection(plugin: string): string {
  return `settings of ${plugin}`
}

export function policySection(plugin: string): string {
  return `policy of ${plugin}`
}

/** Declares the section of the kernel, and two for each plugin: policy and settings, which share `[plugins.NAME]`. */
export function declarePlugins(plugins: readonly ConfigurablePlugin[]): Registry {
  return declareSections([kernelSection, ...plugins.flatMap(plugin => [policyOf(plugin), settingsOf(plugin)])])
}

const kernelSection: Section = {
  name: KERNEL_SECTION,
  label: 'the kernel',
  tables: [['kernel']],
  schema: kernelSchema,
  refusesSecretOf: () => true
}

function policyOf({ name }: ConfigurablePlugin): Section {
  return {
    name: policySection(name),
    owner: name,
    label: `plugin ${name}`,
    tables: [['plugins', name]],
    schema: policySchema,
    accepts: key => RESERVED_KEYS.has(key),
    listed: 'when-mentioned'
  }
}

function settingsOf({ name, config, provides }: ConfigurablePlugin): Section {
  const top = config['x-section']
  const aliases = (config['x-section-aliases'] as readonly string[] | undefined) ?? []
  const paths = aliases.map(each => each.split('.'))
  return {
    name: settingsSection(name),
    owner: name,
    label: `plugin ${name}`,
    tables: [['plugins', name], ...paths, ...(typeof top === 'string' ? [[top]] : [])],
    nested: paths.filter(path => path.length > 1),
    schema: config,
    accepts: (key, table) => table[0] !== 'plugins' || !RESERVED_KEYS.has(key),
    // A backend needs its settings before it can resolve references.
    refusesSecretOf: backend => provides.includes(secretsResolver.id) || provides.includes(secretBackend(backend).id)
  }
}

/** Returns the group of tables `[plugins.NAME]`. */
export function pluginTables(plugins: readonly ConfigurablePlugin[]): Group {
  return {
    table: 'plugins',
    members: plugins.map(({ name }) => name),
    missing: name => ({ message: `no plugin "${name}" is installed`, hint: 'install it, or remove the table' })
  }
}

/** Returns the JSON Schema of `svc.toml`, for editors. */
export function configSchema(plugins: readonly ConfigurablePlugin[]): JsonSchema {
  return editorSchema(declarePlugins(plugins), 'svc.toml', ['plugins'])
}
