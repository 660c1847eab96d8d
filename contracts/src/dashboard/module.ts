/** Exports of a page module. `Root`: in a browser, the shadow root or element to draw into. */
export interface ConsoleModule<Root = unknown> {
  /** Draws the page. Returns the disposer, which runs before the page closes or its code is replaced. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a function without a result is usual here
  mount(root: Root, api: ConsoleApi): void | (() => void)
}

export interface ConsoleApi {
  /**
   * Calls an operation of the page's `uses`. The console asks the person to confirm a destructive one, and rejects with
   * `DSH_NOT_CONFIRMED` if the person does not. Rejects with an error that has `code`, `message` and, if known, `hint`,
   * `data` and `requestId`. `onEvent`: receives the events that the operation emits while it runs.
   */
  call(operation: string, input: unknown, options?: ConsoleCallOptions): Promise<unknown>
  /**
   * Passes the output of a watched operation to the listener, now and after each change. For a delta operation the
   * listener receives all rows. Returns the function that ends it.
   */
  watch(
    operation: string,
    input: unknown,
    listener: (output: unknown) => void,
    onError?: (error: Error) => void
  ): () => void
  /** Opens a page of the console, such as `/ui/p/planning/plans`. */
  navigate(to: string): void
  /** Survives the replacement of the module's code in this tab. Not shared between a sandboxed frame and its successor. */
  readonly memory: Map<string, unknown>
  /** Parameters of the page's path, and the filters of its query. */
  readonly route: Readonly<Record<string, string>>
  readonly theme: 'light' | 'dark'
  /** Whether the session may call the operation. */
  may(operation: string): boolean
  /** Aborted when the page closes or its code is replaced. */
  readonly signal: AbortSignal
}

export interface ConsoleCallOptions {
  readonly signal?: AbortSignal
  readonly onEvent?: (event: unknown) => void
}
