import type { Hook, Tap, TapOptions } from './hook.ts'
import type { Logger } from './logger.ts'
import type { Call, CallerInputOf, Handler, Operation, OutputOf } from './operation.ts'
import type { Point } from './point.ts'
import type { SchemaLike } from './schema.ts'
import type { Dependencies, Resolved, Service } from './service.ts'

export type Disposer = () => void | Promise<void>

export interface Health {
  readonly status: 'ok' | 'degraded' | 'failed'
  /** One sentence for a person; required reading when the status is not `ok`. */
  readonly detail?: string
}

/**
 * Capabilities of an active plugin. All registrations are undone when the unit is disposed, last first.
 *
 * 1. The kernel validates the configuration and resolves the dependencies.
 * 2. It calls `activate(ctx, deps)`: register, open, provide. None of this is visible to others yet.
 * 3. When every unit of the change is active, one synchronous flip makes all of them visible.
 * 4. On replacement or removal `ctx.signal` is aborted after in-flight calls and tasks ended or the deadline passed,
 *    and disposers run last in, first out.
 * 5. From then on every method throws `KRN_SCOPE_CLOSED`.
 */
export interface PluginContext<C = unknown> {
  readonly name: string
  readonly version: string
  /** Validated settings. Replaced in place for `x-reload: live` keys; see {@link PluginContext.onConfig}. */
  readonly config: C
  /** Lines carry the plugin's name. */
  readonly log: Logger
  /** Aborted when the unit is disposed. */
  readonly signal: AbortSignal
  /** Folder of the served project; user paths are relative to it. */
  readonly projectRoot: string
  /** Folder of this plugin's package. */
  readonly packageRoot: string
  /** Folder for this plugin's own state inside the project; made on first use. */
  dataDirectory(): Promise<string>

  /** Sets the handler of a declared operation. A declared operation without one fails the activation. */
  implement<Op extends Operation>(operation: Op, handler: Handler<Op>): void
  /** Provides a declared service. */
  provide<A>(token: Service<A>, value: NoInfer<A>): void
  contribute<A>(to: Point<A>, item: NoInfer<A>, label?: string): void
  on<A extends readonly unknown[], R>(hook: Hook<A, R>, tap: NoInfer<Tap<A, R>>, options?: TapOptions): void
  /** Whether a trigger would run a tap; for a payload that is costly to build. An isolated plugin cannot know: true. */
  isTapped(hook: Pick<Hook, 'id'>): boolean
  /** Runs a hook's taps in the generation that serves now. */
  trigger<A extends readonly unknown[], R>(hook: Hook<A, R>, ...args: NoInfer<A>): Promise<R | undefined>

  /** Calls an operation of any plugin, in process or isolated. */
  call<Op extends Operation>(operation: Op, input: CallerInputOf<Op>, options?: CallOptions): Promise<OutputOf<Op>>
  /** Calls an operation that is known only by name. */
  callById(id: string, input: unknown, options?: CallOptions): Promise<unknown>

  /**
   * A resource that outlives a reload: model weights, sockets, database handles. The new unit acquires it before the
   * old one releases it, so it is opened once. `key` must include everything that distinguishes the resource from
   * others.
   */
  keep<A>(key: string, open: () => A | Promise<A>, close: (value: A) => void | Promise<void>): Promise<A>
  /** Work that is awaited on drain, up to the deadline. */
  task(label: string, run: (signal: AbortSignal) => Promise<void>): void
  /** Work that is cancelled on drain. */
  background(label: string, run: (signal: AbortSignal) => Promise<void>): void
  /** Registers a disposer. Returns it; it may be called early. */
  effect(label: string, dispose: Disposer): Disposer
  /** Sets the handler of a declared command. */
  command(command: string, run: CommandHandler): void
  health(label: string, check: () => Health | Promise<Health>): void
  /**
   * Called once, when the unit begins to serve: inside the flip, after the surfaces, in order of activation.
   * The listener is synchronous. The change can no longer be refused, so a throw is an uncaught error of this plugin.
   */
  onServe(label: string, listener: () => void, options?: ServeOptions): void
  /**
   * Called once, when the unit stops: before the kernel closes, or when it begins to drain after its replacement or
   * removal. Awaited up to the drain deadline.
   */
  onDrain(label: string, listener: (reason: DrainReason) => void | Promise<void>): void
  /**
   * Called with the items of a point: in the flip in which the unit begins to serve, and in each later flip that
   * changes the list. Synchronous, before {@link PluginContext.onServe}. Not available to isolated plugins.
   */
  follow<A>(at: Point<A>, listener: (items: readonly A[]) => void): void
  /** Called when `x-reload: live` settings changed; a throw keeps the old settings. */
  onConfig(listener: (next: C, previous: C) => void | Promise<void>): void
}

/** Why a unit stops: another instance serves, its plugin was removed or is off, or the kernel closes. */
export type DrainReason = 'replaced' | 'removed' | 'closing'

export interface ServeOptions {
  /**
   * Runs before the flip, after the surfaces prepared. A rejection, or the plugin's `activate_timeout_ms`, refuses the
   * change. The signal is aborted at that limit, or when the kernel closes.
   */
  readonly prepare?: (signal: AbortSignal) => Promise<void>
}

export interface CallOptions {
  /**
   * The parent call. It passes on its trace, request id and deadline, and its end cancels this call. The operation
   * sees the plugin as its caller. The plugin must therefore check the rights of the original caller.
   */
  readonly parent?: Pick<Call, 'signal' | 'traceId' | 'requestId' | 'deadline'> & Partial<Pick<Call, 'spanId'>>
  readonly signal?: AbortSignal
  /** Milliseconds; 0 for only the operation's limit. */
  readonly timeoutMs?: number
  readonly onEvent?: (event: unknown) => void
  readonly onProgress?: (done: number, total?: number, message?: string) => void
}

/**
 * Resources that an isolated plugin may use; becomes Node's `--permission` flags. Paths are relative to the project.
 */
export interface Permissions {
  readonly fsRead?: readonly string[]
  readonly fsWrite?: readonly string[]
  readonly childProcess?: boolean
  readonly worker?: boolean
  readonly nativeAddons?: boolean
  /** Environment variables that the isolated plugin can read. */
  readonly env?: readonly string[]
}

/** A command without an operation, for a plugin that owns the terminal (servers, chats). */
export interface CommandDescriptor {
  /** Words after the program's name. */
  readonly command: string
  readonly summary: string
  /** JSON Schema of positionals and flags together. */
  readonly input: SchemaLike
  readonly args?: readonly string[]
  readonly aliases?: Readonly<Record<string, string>>
  /**
   * Whether the command needs contributions of other plugins: then every enabled plugin is activated, except plugins
   * that listen. Default false: only its plugin and the requirements of that.
   */
  readonly project?: boolean
  /** Whether it runs despite errors in the configuration, whose values then count as absent. Default false. */
  readonly tolerant?: boolean
}

/** The terminal, as a command sees it. */
export interface CommandIo {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: NodeJS.WritableStream
  /** Whether `--json` was given: print only machine-readable output. */
  readonly json: boolean
  /** Aborted on the first Ctrl-C; the second ends the process. */
  readonly signal: AbortSignal
  /**
   * Runs another command of svc on this project, with the flags of every command that were given here, as a process
   * that continues after this one ends. `output` is a file descriptor for its output. Absent if the command does not
   * run in svc.
   */
  detach?(words: readonly string[], output: number): DetachedProcess
}

/** A detached process. */
export interface DetachedProcess {
  /** Undefined if it could not be started. */
  readonly pid: number | undefined
  /** How it ended, if known; null while it runs. */
  ending(): string | null
}

/** Returns the exit code; undefined means 0. */
export type CommandHandler = (
  input: Readonly<Record<string, unknown>>,
  io: CommandIo
) => number | ServeInstead | void | Promise<number | ServeInstead | void>

/**
 * Returned by a command that becomes a server: its project is closed, and the process serves like `svc serve` until it
 * is interrupted.
 */
export interface ServeInstead {
  /** Serving plugins, with their requirements; empty: all enabled plugins. */
  readonly only: readonly string[]
  /** Settings by their keys, `plugins.http.port`, as if each had been given with `--set`. */
  readonly set: Readonly<Record<string, unknown>>
  /** Whether sources of plugins are watched, as with `svc serve --watch`. */
  readonly watch?: boolean
}

export interface PluginDefinition<C, CI, R extends Dependencies, O extends Dependencies> {
  readonly name: string
  /** One sentence, shown in lists. */
  readonly summary?: string
  /** Schema of the plugin's settings: an object. */
  readonly config?: SchemaLike<C, CI>
  readonly requires?: R
  readonly optional?: O
  /** Plugins that are activated before this one, if present. */
  readonly after?: readonly string[]
  readonly provides?: readonly Service<any>[]
  readonly operations?: readonly Operation[]
  readonly points?: readonly Point<any>[]
  readonly hooks?: readonly Hook<any, any>[]
  readonly commands?: readonly CommandDescriptor[]
  readonly permissions?: Permissions
  /** Whether the plugin is enabled without a setting in `svc.toml`. Default true. */
  readonly enabledByDefault?: boolean
  /** Effect of a failed start if `svc.toml` has no setting. Default `retry`. */
  readonly onBootFailure?: 'abort' | 'continue' | 'retry'
  /** Whether it listens on separate ports; such a plugin is left out of single commands. Default false. */
  readonly serves?: boolean
  activate(ctx: PluginContext<C>, deps: Resolved<R, O>): void | Disposer | Promise<void | Disposer>
}

export interface Plugin<C = any> extends PluginDefinition<C, any, any, any> {
  readonly kind: 'plugin'
  /** Version of the SDK interface that it was written against. */
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
