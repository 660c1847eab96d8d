import { type Effect, hook, type Principal } from '@svc/plugin-sdk'
import type { PluginState } from './admin.ts'

/** One call of an operation, before its handler runs. */
export interface OperationStart {
  readonly operation: string
  /** Plugin that answers. */
  readonly plugin: string
  readonly effect: Effect
  readonly surface: string
  readonly principal: Principal
  /** Plugin that calls; null for a caller from outside. */
  readonly caller: string | null
  readonly requestId: string
  readonly traceId: string
  /** This call in its trace: 16 hex digits. */
  readonly spanId: string
  /** Step of the trace that made the call; null if it starts one. */
  readonly parentSpanId: string | null
  /** A copy of the validated input: changes to it have no effect. */
  readonly input: unknown
}

/** Before the handler of an operation runs. */
export const operationStarting = hook<[OperationStart]>('kernel.operation-starting', 'series', {
  summary: 'Before an operation runs, once its caller is authorised and its input is valid. A throw refuses the call.',
  payload: {
    operation: 'id of the operation',
    plugin: 'plugin that answers',
    effect: 'read, write or destructive',
    surface: 'http, mcp, rpc, cli, internal, or the name of another surface',
    principal: 'caller: id, role, scopes',
    caller: 'plugin that calls; null for a caller from outside',
    requestId: 'id of the request',
    traceId: 'W3C trace id',
    spanId: 'this call in its trace',
    parentSpanId: 'step that made the call; null if it starts the trace',
    input: 'copy of the validated input'
  }
})

export interface OperationEnd extends Omit<OperationStart, 'input'> {
  /** Null after a success. */
  readonly error: { readonly code: string; readonly message: string; readonly status: number } | null
  /** A copy of the output; undefined after an error. */
  readonly output: unknown
  readonly durationMs: number
}

/** After an operation ended, also when it was refused. */
export const operationEnded = hook<[OperationEnd]>('kernel.operation-ended', 'parallel', {
  onError: 'skip',
  summary: 'After an operation ended, also when it was refused. The caller does not wait.',
  payload: {
    operation: 'id of the operation',
    plugin: 'plugin that answered',
    effect: 'read, write or destructive',
    surface: 'http, mcp, rpc, cli, internal, or the name of another surface',
    principal: 'caller: id, role, scopes',
    caller: 'plugin that called; null for a caller from outside',
    requestId: 'id of the request',
    traceId: 'W3C trace id',
    spanId: 'this call in its trace',
    parentSpanId: 'step that made the call; null if it starts the trace',
    error: 'code, message and status; null after a success',
    output: 'copy of the output; undefined after an error',
    durationMs: 'milliseconds, waiting included'
  }
})

export interface ConfigurationApplied {
  /** Plugins whose settings changed. */
  readonly plugins: readonly string[]
  /** Keys that changed, for example `plugins.http.port`. */
  readonly keys: readonly string[]
}

/** After a changed configuration took effect. */
export const configurationApplied = hook<[ConfigurationApplied]>('kernel.configuration-applied', 'parallel', {
  onError: 'skip',
  summary: 'After a changed configuration took effect.',
  payload: { plugins: 'plugins whose settings changed', keys: 'settings that changed' }
})

export interface PluginStateChange {
  readonly plugin: string
  readonly state: PluginState
  /** Why it does not run normally, or null. */
  readonly why: string | null
}

/** After a plugin's state changed. Several changes in one turn of the event loop are one. */
export const pluginStateChanged = hook<[PluginStateChange]>('kernel.plugin-state', 'parallel', {
  onError: 'skip',
  summary: 'After the state of a plugin changed. Several changes in one turn of the event loop are one.',
  payload: {
    plugin: 'name of the plugin',
    state: 'active, degraded, failed, waiting and so on',
    why: 'why it does not run as it should; null otherwise'
  }
})

/** After a flip: what changed, for list-changed notices. */
export const generationFlipped = hook<[GenerationDiff]>('kernel.flipped', 'parallel', {
  onError: 'skip',
  summary: 'After a change of plugins began to serve.',
  payload: {
    generation: 'number of the generation',
    added: 'plugins that are new',
    replaced: 'plugins with a new instance',
    removed: 'removed plugins',
    operations: 'operations whose declaration appeared, changed or vanished'
  }
})

export interface GenerationDiff {
  readonly generation: number
  readonly added: readonly string[]
  readonly replaced: readonly string[]
  readonly removed: readonly string[]
  /** Ids of operations whose descriptor appeared, changed or vanished. */
  readonly operations: readonly string[]
}

/** Hooks that the kernel declares and triggers. */
export const kernelHooks = [
  generationFlipped,
  operationStarting,
  operationEnded,
  configurationApplied,
  pluginStateChanged
] as const
