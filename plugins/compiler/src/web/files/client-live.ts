/** Helpers of `vox-client.ts` that follow live queries. They are the same for all programs. */
export const LIVE_HELPERS = [
  {
    name: '$renewed',
    text: `/** Opens the websocket again after a sign-in or sign-out: the server knows the caller of a websocket from its start. */
async function $renewed<T>(to: Partial<Connection>, call: Promise<T>): Promise<T> {
  const result = await call
  $lives.get(to)?.renew()
  return result
}
`
  },
  {
    name: '$watch',
    text: `/** Follows a query. Calls with equal arguments share one watch, and all watches of a connection one websocket. */
function $watch<T>(
  to: Partial<Connection>,
  query: string,
  args: Readonly<Record<string, unknown>>,
  onValue: (value: T) => void,
  onError: (error: ApiError) => void = () => undefined
): () => void {
  const live = $lives.get(to) ?? $live(to)
  $lives.set(to, live)
  return live.follow(query, args, { onValue: value => onValue(value as T), onError })
}

interface $Follower {
  readonly onValue: (value: unknown) => void
  readonly onError: (error: ApiError) => void
}

interface $Live {
  readonly follow: (query: string, args: Readonly<Record<string, unknown>>, follower: $Follower) => () => void
  readonly renew: () => void
}

interface $Watch {
  readonly key: string
  readonly message: string
  readonly followers: Set<$Follower>
  last: { readonly value: unknown } | null
  /** Set if the caller may not follow the query. Another caller may, after a sign-in. */
  refusal: ApiError | null
}

const $lives = new globalThis.WeakMap<object, $Live>()
const $RETRY_MS = 300
const $MAX_RETRY_MS = 10_000
/** A page that leaves a query often follows the next one at once. */
const $IDLE_MS = 1_000

/** Opens the websocket of a connection with the first query, and again whenever it is lost. */
function $live(to: Partial<Connection>): $Live {
  const address = (to.baseUrl ?? '') + '/api/live'
  const watches = new globalThis.Map<number, $Watch>()
  let socket: WebSocket | null = null
  let isReady = false
  let retryMs = $RETRY_MS
  let lostBy: string | null = null
  /** True once a caller was refused: a new websocket has the cookies of the present one. */
  let isOutdated = false
  let waiting: unknown
  let ids = 0

  const after = (ms: number, run: () => void): void => {
    globalThis.clearTimeout(waiting as number)
    waiting = globalThis.setTimeout(run, ms)
  }
  const retry = (run: () => void): void => {
    after(retryMs * (0.5 + globalThis.Math.random() / 2), run)
    retryMs = globalThis.Math.min(retryMs * 2, $MAX_RETRY_MS)
  }
  const send = (message: string): void => {
    if (isReady && socket?.readyState === 1) socket.send(message)
  }
  const sendAll = (): void => {
    for (const { message } of watches.values()) send(message)
  }

  /** Sends the token first, since the server checks each query with it. */
  const begin = async (opened: WebSocket): Promise<void> => {
    const own = await $authorization(to).catch((error: unknown) => {
      if (socket === opened) lostBy = \`the token of the connection is not available: \${globalThis.String(error)}\`
      opened.close()
      return undefined
    })
    if (socket !== opened || own === undefined) return
    const { authorization = '' } = { ...own, ...to.headers }
    isReady = true
    const token = /^Bearer (.+)$/i.exec(authorization)?.[1]
    if (token !== undefined) send(globalThis.JSON.stringify({ auth: token }))
    sendAll()
  }

  const tell = ({ followers }: $Watch, error: ApiError): void => {
    for (const each of [...followers]) each.onError(error)
  }
  const tellAll = (error: ApiError): void => {
    for (const watch of [...watches.values()]) tell(watch, error)
  }

  /** Drops the value of a caller that is no longer admitted. Other data of that caller must not be shown either. */
  const refuse = (watch: $Watch, error: ApiError): void => {
    const wasAdmitted = watch.last !== null
    watch.last = null
    watch.refusal = error
    isOutdated = true
    tell(watch, error)
    if (!wasAdmitted) return
    if (error.status === 401) to.onUnauthorized?.(error)
    for (const listener of to.onChange ?? []) listener(true)
  }

  const connect = (): void => {
    const Socket: typeof globalThis.WebSocket | undefined = to.WebSocket ?? globalThis.WebSocket
    if (Socket === undefined) {
      tellAll(new ApiError('this platform has no WebSocket: set the WebSocket of voxClient, for example to that of the package ws', 0, null, null))
      return
    }
    const url = new globalThis.URL(address, globalThis.location?.href)
    url.protocol = url.protocol.replace('http', 'ws')
    const opened = new Socket(url)
    socket = opened
    isReady = false
    isOutdated = false
    opened.onopen = () => void begin(opened)
    opened.onmessage = ({ data }) => {
      if (socket === opened) receive(globalThis.String(data))
    }
    opened.onclose = () => {
      if (socket !== opened) return
      socket = null
      const reason = lostBy ?? \`\${address} is not connected\`
      lostBy = null
      if (watches.size === 0) return
      for (const watch of [...watches.values()]) if (watch.refusal !== null && watch.last !== null) refuse(watch, watch.refusal)
      tellAll(new ApiError(\`\${reason}; it is connected again automatically\`, 0, null, null))
      retry(connect)
    }
  }

  const reopen = (run: (connect: () => void) => void): void => {
    const before = socket
    socket = null
    before?.close()
    run(() => {
      if (watches.size > 0 && socket === null) connect()
    })
  }

  const receive = (text: string): void => {
    const message = globalThis.Object($parsed(text)) as { readonly watch?: number; readonly value?: unknown; readonly status?: number; readonly code?: string; readonly error?: string; readonly ended?: boolean }
    const { watch: id, status, ended } = message
    const watch = id === undefined ? undefined : watches.get(id)
    if (id === undefined || watch === undefined) return
    if (status === undefined) {
      retryMs = $RETRY_MS
      watch.last = { value: message.value }
      watch.refusal = null
      for (const each of [...watch.followers]) each.onValue(message.value)
      return
    }
    const error = new ApiError(message.error ?? address, status, message.code ?? null, message)
    if (ended === true && (status === 401 || status === 403)) {
      if (watch.last === null || watch.refusal !== null) return refuse(watch, error)
      // The caller may have another token or session now. Its value counts until the server has refused that one, too.
      watch.refusal = error
      return reopen(retry)
    }
    // The server may be busy or starting; other errors stay until the caller tries again.
    if (ended === true && status >= 500) retry(sendAll)
    else if (ended === true) watches.delete(id)
    tell(watch, error)
  }

  globalThis.addEventListener?.('online', () => {
    if (watches.size > 0 && socket === null) after(0, connect)
  })

  const renew = (): void => {
    for (const watch of watches.values()) {
      watch.last = null
      watch.refusal = null
    }
    reopen(run => after(0, run))
  }
  if (globalThis.Object.isExtensible(to)) to.reconnect = renew

  const follow: $Live['follow'] = (query, args, follower) => {
    const key = query + $json(args)
    let [id, watch] = [...watches].find(([, each]) => each.key === key) ?? []
    if (id === undefined || watch === undefined) {
      id = ids++
      const named = globalThis.Object.fromEntries(globalThis.Object.entries(args).filter(([, value]) => value !== undefined))
      watch = { key, message: $print({ watch: id, query, args: named }), followers: new globalThis.Set(), last: null, refusal: null }
      watches.set(id, watch)
      if (socket === null) after(0, connect)
      else if (isOutdated) reopen(run => after(0, run))
      else send(watch.message)
    } else if (watch.last !== null) {
      const { value } = watch.last
      globalThis.queueMicrotask(() => {
        if (watch?.followers.has(follower)) follower.onValue(value)
      })
    } else if (watch.refusal !== null) {
      watch.refusal = null
      reopen(run => after(0, run))
    }
    const [ownId, own] = [id, watch]
    own.followers.add(follower)
    return () => {
      own.followers.delete(follower)
      if (own.followers.size > 0 || watches.get(ownId) !== own) return
      watches.delete(ownId)
      send(globalThis.JSON.stringify({ unwatch: ownId }))
      if (watches.size > 0) return
      after($IDLE_MS, () => {
        if (watches.size === 0) socket?.close()
      })
    }
  }
  return { follow, renew }
}
`
  }
] as const
