import type { Hook, Tap, TapOptions } from './hook.ts'
import type { Logger } from './logger.ts'
import type { Call, CallerInputOf, Handler, Operation, OutputOf, OwnFlag } from './operation.ts'
import type { Point } from './point.ts'
import type { SchemaLike } from './schema.ts'
import type { Dependencies, Resolved, Service } from './service.ts'

export type Disposer = () => void | Promise<void>

export interface Health {
  readonly status: 'ok' | 'degraded' | 'failed'
  /** Sentence for the user that explains the status. Expected if the status is not `ok`. */
  readonly detail?: string
}

/**
 * Capabilities of an active plugin. All registrations are undone when the unit is disposed, last first.
 *
 * 1. The kernel validates the settings and resolves the dependencies.
 * 2. The kernel calls `activate(ctx, deps)`. The plugin registers handlers, opens resources and provides services,
 *    which are not yet visible to other plugins.
 * 3. When all units of the change are active, one synchronous flip makes them visible.
 * 4. On replacement or removal, the kernel waits for running calls and tasks, up to the drain deadline. Then
 *    `ctx.signal` is aborted, and disposers run last in, first out.
 * 5. Afterwards, every method throws `KRN_SCOPE_CLOSED`.
 */
export interface PluginContext<C = unknown> {
  readonly name: string
  readonly version: string
  /** Validated settings. Replaced when `x-reload: live` settings change; see {@link PluginContext.onConfig}. */
  readonly config: C
  /** Log, whose lines include the plugin's name. */
  readonly log: Logger
  /** Aborted when the unit is disposed. */
  readonly signal: AbortSignal
  /** Folder of the project. Paths of users are relative to it. */
  readonly projectRoot: string
  /** Folder of this plugin's package. */
  readonly packageRoot: string
  /** Returns the folder for this plugin's data in the project. Creates it on first use. */
  dataDirectory(): Promise<string>

  /** Sets the handler of a declared operation. Activation fails if a declared operation has no handler. */
  implement<Op extends Operation>(operation: Op, handler: Handler<Op>): void
  /** Provides a declared service. */
  provide<A>(token: Service<A>, value: NoInfer<A>): void
  contribute<A>(to: Point<A>, item: NoInfer<A>, label?: string): void
  on<A extends readonly unknown[], R>(hook: Hook<A, R>, tap: NoInfer<Tap<A, R>>, options?: TapOptions): void
  /** True if the hook has taps. Lets a plugin skip building a costly payload. Always true for an isolated plugin. */
  isTapped(hook: Pick<Hook, 'id'>): boolean
  /** Runs the hook's taps of the serving generation. */
  trigger<A extends readonly unknown[], R>(hook: Hook<A, R>, ...args: NoInfer<A>): Promise<R | undefined>

  /** Calls an operation of any plugin, in process or isolated. */
  call<Op extends Operation>(operation: Op, input: CallerInputOf<Op>, options?: CallOptions): Promise<OutputOf<Op>>
  /** Calls an operation by its id. */
  callById(id: string, input: unknown, options?: CallOptions): Promise<unknown>

  /**
   * Announces that data behind a topic changed, after the change is committed. Takes constant time and no payload:
   * clients call the operations that watch the topic again. Topics begin with the plugin's name, such as
   * `orchestrator.tasks`.
   */
  changed(topic: string): void

  /**
   * Acquires a resource that outlives a reload, such as model weights, sockets or database handles. The new unit
   * acquires it before the old one releases it, so it stays open. `key` must include everything that distinguishes the
   * resource from others.
   */
  keep<A>(key: string, open: () => A | Promise<A>, close: (value: A) => void | Promise<void>): Promise<A>
  /** Starts work that is awaited on drain, up to the deadline. */
  task(label: string, run: (signal: AbortSignal) => Promise<void>): void
  /** Starts work that is cancelled on drain. */
  background(label: string, run: (signal: AbortSignal) => Promise<void>): void
  /** Registers a disposer. Call the returned function to dispose early. */
  effect(label: string, dispose: Disposer): Disposer
  /** Sets the handler of a declared command. */
  command(command: string, run: CommandHandler): void
  health(label: string, check: () => Health | Promise<Health>): void
  /**
   * Registers a synchronous listener that is called once, when the unit begins to serve: during the flip, after the
   * surfaces, in activation order. The change can no longer fail, so an error of the listener counts as an uncaught
   * error.
   */
  onServe(label: string, listener: () => void, options?: ServeOptions): void
  /**
   * Registers a listener that is called once, when the unit stops: before the kernel closes, or after the replacement
   * or removal of the unit. Awaited up to the drain deadline.
   */
  onDrain(label: string, listener: (reason: DrainReason) => void | Promise<void>): void
  /**
   * Registers a synchronous listener for the items of a point. It is called when the unit begins to serve, before
   * {@link PluginContext.onServe}, and in each later flip that changes the items. `plugins`: names of the plugins that
   * contributed the items, in the same order. Not available to isolated plugins.
   */
  follow<A>(at: Point<A>, listener: (items: readonly A[], plugins: readonly string[]) => void): void
  /** Registers a listener for changed `x-reload: live` settings. If it throws, the previous settings stay. */
  onConfig(listener: (next: C, previous: C) => void | Promise<void>): void
}

/** Reason for draining: a new instance serves, the plugin was removed or disabled, or the kernel closes. */
export type DrainReason = 'replaced' | 'removed' | 'closing'

export interface ServeOptions {
  /**
   * Runs before the flip, after the surfaces prepared. The change fails if it rejects or exceeds the plugin's
   * `activate_timeout_ms`. The signal is aborted at that limit, or when the kernel closes.
   */
  readonly prepare?: (signal: AbortSignal) => Promise<void>
}

export interface CallOptions {
  /**
   * Parent call. This call inherits its trace, request id and deadline, and is cancelled with it. The caller that the
   * operation sees is the plugin, so the plugin must check the rights of the original caller.
   */
  readonly parent?: Pick<Call, 'signal' | 'traceId' | 'requestId' | 'deadline'> &
    Partial<Pick<Call, 'spanId' | 'sampled'>>
  readonly signal?: AbortSignal
  /** Timeout in milliseconds; 0: only the timeout of the operation applies. */
  readonly timeoutMs?: number
  readonly onEvent?: (event: unknown) => void
  readonly onProgress?: (done: number, total?: number, message?: string) => void
}

/**
 * Permissions of an isolated plugin, passed to Node as `--permission` flags. Paths are relative to the project.
 */
export interface Permissions {
  readonly fsRead?: readonly string[]
  readonly fsWrite?: readonly string[]
  readonly childProcess?: boolean
  readonly worker?: boolean
  readonly nativeAddons?: boolean
  /** Environment variables that the plugin can read. */
  readonly env?: readonly string[]
  /**
   * Environment variables of the secrets that the plugin may declare with the point `declaredSecrets`, and their ids,
   * registries and backend keys, unless these begin with the name of the plugin.
   */
  readonly secrets?: readonly string[]
}

/** Command that is not an operation, for plugins that control the terminal, such as servers and chats. */
export interface CommandDescriptor {
  /** Words after `svc`. */
  readonly command: string
  readonly summary: string
  /** Schema of positional arguments and flags together. */
  readonly input: SchemaLike
  readonly args?: readonly string[]
  readonly aliases?: Readonly<Record<string, string>>
  /** Input fields with the name of a global flag. After the words of the command, the flag sets the field. */
  readonly ownFlags?: readonly OwnFlag[]
  /**
   * True if the command needs contributions of other plugins. Then all enabled plugins are activated, except those that
   * open ports. Default false: only its plugin and that plugin's requirements are activated.
   */
  readonly project?: boolean
  /** True if the command runs despite errors in the configuration. Invalid values count as absent. Default false. */
  readonly tolerant?: boolean
}

/** Standard streams and options that a command receives. */
export interface CommandIo {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: NodeJS.WritableStream
  /** True with `--json`: print only machine-readable output. */
  readonly json: boolean
  /** Aborted on the first Ctrl-C. The second one ends the process. */
  readonly signal: AbortSignal
  /**
   * Starts another svc command on this project in a process that outlives this one, with the same global flags.
   * `output`: file descriptor for its output. Absent if the command does not run in svc, for example in a test.
   */
  detach?(words: readonly string[], output: number): DetachedProcess
}

/** Process that outlives its parent. */
export interface DetachedProcess {
  /** Process id; undefined if the process could not be started. */
  readonly pid: number | undefined
  /** Returns how the process ended; null while it runs. */
  ending(): string | null
}

/** Handler of a command. Returns the exit code; undefined means 0. */
export type CommandHandler = (
  input: Readonly<Record<string, unknown>>,
  io: CommandIo
) => number | ServeInstead | void | Promise<number | ServeInstead | void>

/**
 * Result of a command that becomes a server: its project is closed, and the process then runs as `svc serve` until it
 * is interrupted.
 */
export interface ServeInstead {
  /** Plugins to serve, with their requirements. Empty: all enabled plugins. */
  readonly only: readonly string[]
  /** Settings by key, such as `plugins.http.port`; same effect as `--set`. */
  readonly set: Readonly<Record<string, unknown>>
  /** True to run plugins from sources and reload changed files, as `svc serve --watch` does. */
  readonly watch?: boolean
  /** Called once the plugins serve, for what a user may do from then on. */
  readonly onServing?: () => void
}

export interface PluginDefinition<C, CI, R extends Dependencies, O extends Dependencies> {
  readonly name: string
  /** Summary in one sentence, shown in lists. */
  readonly summary?: string
  /** Schema of the plugin's settings, which must be an object schema. */
  readonly config?: SchemaLike<C, CI>
  readonly requires?: R
  readonly optional?: O
  /** Plugins to activate before this one, if they are present. */
  readonly after?: readonly string[]
  readonly provides?: readonly Service<any>[]
  readonly operations?: readonly Operation[]
  readonly points?: readonly Point<any>[]
  /**
   * Points that it contributes to and whose owner needs the items in single commands, too: these then activate the
   * plugin. In a server, all plugins are active.
   */
  readonly contributes?: readonly Point<any>[]
  /** Hooks that it triggers. */
  readonly hooks?: readonly Hook<any, any>[]
  /**
   * Hooks that it taps, also when a single command triggers them: commands of plugins that declare such a hook then
   * activate this plugin. In a server, all plugins are active.
   */
  readonly taps?: readonly Hook<any, any>[]
  readonly commands?: readonly CommandDescriptor[]
  readonly permissions?: Permissions
  /** True if the plugin is enabled without a setting in `svc.toml`. Default true. */
  readonly enabledByDefault?: boolean
  /** Action after a failed start if `svc.toml` has no setting. Default `retry`. */
  readonly onBootFailure?: 'abort' | 'continue' | 'retry'
  /** True if the plugin opens ports. Commands with `project: true` do not activate such plugins. Default false. */
  readonly serves?: boolean
  activate(ctx: PluginContext<C>, deps: Resolved<R, O>): void | Disposer | Promise<void | Disposer>
}

export interface Plugin<C = any> extends PluginDefinition<C, any, any, any> {
  readonly kind: 'plugin'
  /** Version of the SDK interface that the plugin was written for. */
  readonly sdk: number
}

/** Major version of the interface between kernel and plugins. */
export const SDK_VERSION = 1

// biome-ignore lint/complexity/noBannedTypes: a plugin without dependencies declares none
export function definePlugin<C = {}, CI = C, const R extends Dependencies = {}, const O extends Dependencies = {}>(
  definition: PluginDefinition<C, CI, R, O>
): Plugin<C> {
  return { kind: 'plugin', sdk: SDK_VERSION, ...definition } as Plugin<C>
}
