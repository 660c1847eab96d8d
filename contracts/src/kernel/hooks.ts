import { type Effect, hook, type Principal } from '@svc/plugin-sdk'
import type { PluginState } from './admin.ts'

/** One call of an operation, before its handler runs. */
export interface OperationStart {
  readonly operation: string
  /** Plugin that handles the operation. */
  readonly plugin: string
  readonly effect: Effect
  readonly surface: string
  readonly principal: Principal
  /** Calling plugin; null for an external caller. */
  readonly caller: string | null
  readonly requestId: string
  readonly traceId: string
  /** W3C span id of this call: 16 hex digits. */
  readonly spanId: string
  /** Span that made the call; null if the call starts a trace. */
  readonly parentSpanId: string | null
  /** A copy of the validated input: changes to it have no effect. */
  readonly input: unknown
}

/** Triggered before the handler of an operation runs. */
export const operationStarting = hook<[OperationStart]>('kernel.operation-starting', 'series', {
  summary: 'Before an operation runs, once its caller is authorised and its input is valid. A throw rejects the call.',
  payload: {
    operation: 'id of the operation',
    plugin: 'plugin that handles the operation',
    effect: 'read, write or destructive',
    surface: 'http, mcp, rpc, cli, internal, or the name of another surface',
    principal: 'caller: id, role, scopes',
    caller: 'calling plugin; null for an external caller',
    requestId: 'id of the request',
    traceId: 'W3C trace id',
    spanId: 'W3C span id of this call',
    parentSpanId: 'span that made the call; null if the call starts the trace',
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

/** Triggered after an operation ended, even if the call was rejected. */
export const operationEnded = hook<[OperationEnd]>('kernel.operation-ended', 'parallel', {
  onError: 'skip',
  summary: 'After an operation ended, even if the call was rejected. The caller does not wait.',
  payload: {
    operation: 'id of the operation',
    plugin: 'plugin that handled the operation',
    effect: 'read, write or destructive',
    surface: 'http, mcp, rpc, cli, internal, or the name of another surface',
    principal: 'caller: id, role, scopes',
    caller: 'calling plugin; null for an external caller',
    requestId: 'id of the request',
    traceId: 'W3C trace id',
    spanId: 'W3C span id of this call',
    parentSpanId: 'span that made the call; null if the call starts the trace',
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

/** Triggered after a changed configuration took effect. */
export const configurationApplied = hook<[ConfigurationApplied]>('kernel.configuration-applied', 'parallel', {
  onError: 'skip',
  summary: 'After a changed configuration took effect.',
  payload: { plugins: 'plugins whose settings changed', keys: 'settings that changed' }
})

export interface PluginStateChange {
  readonly plugin: string
  readonly state: PluginState
  /** Why the plugin does not run normally, or null. */
  readonly why: string | null
}

/** Triggered after a plugin's state changed, once for several changes in one turn of the event loop. */
export const pluginStateChanged = hook<[PluginStateChange]>('kernel.plugin-state', 'parallel', {
  onError: 'skip',
  summary: 'After the state of a plugin changed; once for several changes in one turn of the event loop.',
  payload: {
    plugin: 'name of the plugin',
    state: 'active, degraded, failed, waiting and so on',
    why: 'why the plugin does not run normally; null otherwise'
  }
})

/** Triggered after a new generation began to serve, with the changes. */
export const generationFlipped = hook<[GenerationDiff]>('kernel.flipped', 'parallel', {
  onError: 'skip',
  summary: 'After a new generation of plugins began to serve.',
  payload: {
    generation: 'number of the generation',
    added: 'plugins that are new',
    replaced: 'plugins with a new instance',
    removed: 'removed plugins',
    operations: 'operations whose declaration was added, changed or removed'
  }
})

export interface GenerationDiff {
  readonly generation: number
  readonly added: readonly string[]
  readonly replaced: readonly string[]
  readonly removed: readonly string[]
  /** Ids of operations whose descriptor was added, changed or removed. */
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
