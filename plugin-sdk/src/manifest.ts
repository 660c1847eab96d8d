import type { Hook } from './hook.ts'
import type { OperationDescriptor } from './operation.ts'
import type { CommandDescriptor, Permissions, Plugin } from './plugin.ts'
import { type JsonSchema, toJsonSchema } from './schema.ts'
import type { ServiceId } from './service.ts'

/** Declarations of a plugin as data, without its code. Generated from the plugin, never written by hand. */
export interface PluginManifest {
  readonly manifest: 1
  readonly name: string
  readonly version: string
  readonly summary: string
  readonly sdk: number
  readonly requires: readonly ServiceId[]
  readonly optional: readonly ServiceId[]
  /** Services that are looked up on use. This plugin is not replaced when their provider is. */
  readonly refs: readonly ServiceId[]
  readonly after: readonly string[]
  readonly provides: readonly ServiceId[]
  readonly operations: readonly OperationDescriptor[]
  readonly points: readonly string[]
  /** Points of other plugins, whose single commands activate this one, too. */
  readonly contributes?: readonly string[]
  /** Hooks of other plugins, whose single commands activate this one, too. */
  readonly taps?: readonly string[]
  readonly hooks: readonly DeclaredHook[]
  readonly commands: readonly (Omit<CommandDescriptor, 'input'> & { readonly input: JsonSchema })[]
  readonly config: JsonSchema
  readonly permissions: Permissions
  readonly enabledByDefault: boolean
  /** True if the plugin opens ports. */
  readonly serves?: boolean
  /** Action after a failed start if `svc.toml` has no setting. Default `retry`. */
  readonly onBootFailure?: 'abort' | 'continue' | 'retry'
}

/** Hook as data. */
export type DeclaredHook = Pick<Hook, 'id' | 'mode' | 'onError'> &
  Partial<Pick<Hook, 'summary' | 'payload' | 'timeoutMs' | 'schema'>>

/** Returns the manifest of a plugin. `version`: version of its package. */
export function describePlugin(plugin: Plugin, version: string): PluginManifest {
  const requires = Object.values(plugin.requires ?? {}) as { kind: string; id: ServiceId }[]
  const optional = Object.values(plugin.optional ?? {}) as { kind: string; id: ServiceId }[]
  const ids = (of: readonly { id: ServiceId }[]): ServiceId[] => [...new Set(of.map(token => token.id))]
  const declared = [...requires, ...optional]
  const held = new Set(declared.filter(each => each.kind !== 'ref').map(each => each.id))
  return {
    manifest: 1,
    name: plugin.name,
    version,
    summary: plugin.summary ?? '',
    sdk: plugin.sdk,
    requires: ids(requires),
    optional: ids(optional),
    // A token that is both required and a reference counts as required.
    refs: ids(declared.filter(each => each.kind === 'ref')).filter(id => !held.has(id)),
    after: plugin.after ?? [],
    provides: ids(plugin.provides ?? []),
    operations: (plugin.operations ?? []).map(({ kind: _kind, ...descriptor }) => descriptor),
    points: (plugin.points ?? []).map(point => point.id),
    hooks: (plugin.hooks ?? []).map(({ kind: _kind, ...hook }) => hook),
    commands: (plugin.commands ?? []).map(command => ({ ...command, input: toJsonSchema(command.input) })),
    config: plugin.config === undefined ? { type: 'object', additionalProperties: false } : toJsonSchema(plugin.config),
    permissions: plugin.permissions ?? {},
    enabledByDefault: plugin.enabledByDefault ?? true,
    ...(plugin.contributes === undefined ? {} : { contributes: plugin.contributes.map(point => point.id) }),
    ...(plugin.taps === undefined ? {} : { taps: plugin.taps.map(hook => hook.id) }),
    ...(plugin.serves === true ? { serves: true } : {}),
    ...(plugin.onBootFailure === undefined ? {} : { onBootFailure: plugin.onBootFailure })
  }
}
