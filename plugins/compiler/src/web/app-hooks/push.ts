/** Part of `mobile.ts` that implements `@push` and `std.mobile.push`. */
export const PUSH = `/** A push message; \`data\` is JSON. */
interface Message {
  readonly title: string
  readonly body: string
  readonly data: string
}

interface Push {
  /** Public key of the push server. Browsers require it. */
  readonly publicKey: string | null
  /** True if the program itself requests the permission, with \`std.mobile.push.register\`. */
  readonly asks: boolean
  readonly onRegister: ((target: { readonly token: string; readonly platform: string }) => Promise<unknown>) | null
  readonly onNotification: ((message: Message) => Promise<unknown>) | null
  /** May return a path. */
  readonly onAction: ((message: Message & { readonly action: string }) => Promise<unknown>) | null
}

/** Called with each message, as JSON with \`title\`, \`body\` and \`data\`. */
export const pushListeners = new Set<(message: string) => void>()

/** Functions that stop the push handling of a started page. */
let stopsPush: (() => void)[] = []

function startPush(open: Open): () => void {
  const seen = async (message: Message) => {
    for (const listener of pushListeners) listener(JSON.stringify({ ...message, data: parsed(message.data) }))
    const { onNotification } = push
    if (onNotification !== null) await attempt(async () => await onNotification(message), null)
  }
  const acted = async (message: Message, action: string) => {
    const { onAction } = push
    if (onAction !== null) openPath(await attempt(async () => await onAction({ ...message, action }), null), open)
  }
  const native = nativePush()
  stopsPush = native === undefined ? startBrowser(seen, acted) : startNative(native, seen, acted)
  return () => {
    for (const stop of stopsPush) stop()
    stopsPush = []
  }
}

type Seen = (message: Message) => Promise<void>
type Acted = (message: Message, action: string) => Promise<void>

function startNative(native: PushPlugin, seen: Seen, acted: Acted): (() => void)[] {
  const messageOf = ({ title, body, data }: PushMessage) => ({
    title: title ?? '',
    body: body ?? '',
    data: JSON.stringify(data ?? null)
  })
  void attempt(async () => {
    if (push.asks && (await native.checkPermissions()).receive !== 'granted') return
    await registerForPush()
  }, undefined)
  return [
    listening(native.addListener('pushNotificationReceived', found => void seen(messageOf(found)))),
    listening(
      native.addListener('pushNotificationActionPerformed', ({ actionId, notification }) => {
        void acted(messageOf(notification), actionId)
      })
    )
  ]
}

function startBrowser(seen: Seen, acted: Acted): (() => void)[] {
  if (!('serviceWorker' in navigator)) return []
  const onMessage = ({ data }: MessageEvent) => {
    const { type, message, action } = Object(data) as { type?: unknown; message: Message; action: string }
    if (type === 'vox-push') void seen(message)
    if (type === 'vox-push-action') void acted(message, action)
  }
  const ask = () => void attempt(registerForPush, '')
  navigator.serviceWorker.addEventListener('message', onMessage)
  navigator.serviceWorker.startMessages()
  void attempt(worker, null)
  const { permission } = globalThis.Notification ?? { permission: 'denied' }
  if (permission === 'granted') ask()
  // Browsers show a permission request only after a user gesture.
  else if (permission === 'default' && !push.asks) window.addEventListener('click', ask, { once: true })
  return [
    () => navigator.serviceWorker.removeEventListener('message', onMessage),
    () => window.removeEventListener('click', ask)
  ]
}

/**
 * Requests permission for push notifications, and passes the push target to \`on_register\`: the token of a mobile
 * device, or the subscription of a browser as JSON. Throws if the permission is denied.
 */
export async function registerForPush(): Promise<string> {
  const native = nativePush()
  const token = native === undefined ? await subscribed() : await nativeToken(native)
  const { onRegister } = push
  if (onRegister !== null) await onRegister({ token, platform: platform() })
  return token
}

async function nativeToken(native: PushPlugin): Promise<string> {
  const { receive } = await native.requestPermissions()
  if (receive !== 'granted') throw new Error('this device does not permit push notifications')
  const stops: (() => void)[] = []
  try {
    return await new Promise<string>((resolve, reject) => {
      stops.push(listening(native.addListener('registration', ({ value }) => resolve(value))))
      stops.push(listening(native.addListener('registrationError', ({ error }) => reject(new Error(error)))))
      native.register().catch(reject)
    })
  } finally {
    for (const stop of stops) stop()
  }
}

async function subscribed(): Promise<string> {
  const key = push.publicKey ?? (import.meta as { readonly env?: { readonly VITE_PUSH_PUBLIC_KEY?: string } }).env?.VITE_PUSH_PUBLIC_KEY
  if (key === undefined || key === '') throw new Error('push notifications in a browser require a public_key in @push, or VITE_PUSH_PUBLIC_KEY')
  if ((await Notification.requestPermission()) !== 'granted') throw new Error('this browser does not permit push notifications')
  const { pushManager } = await worker()
  return JSON.stringify(await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }))
}

/** Returns the service worker that receives pushes, once it is active. */
async function worker(): Promise<ServiceWorkerRegistration> {
  if (!('serviceWorker' in navigator)) throw new Error('this browser does not support service workers')
  const found = await navigator.serviceWorker.register(new URL('./vox-push-worker.js?no-inline', import.meta.url))
  const coming = found.active === null ? (found.installing ?? found.waiting) : null
  if (coming !== null && coming.state !== 'activated') {
    await new Promise<void>((resolve, reject) => {
      coming.addEventListener('statechange', () => {
        if (coming.state === 'activated') resolve()
        if (coming.state === 'redundant') reject(new Error('the service worker for push notifications did not start'))
      })
    })
  }
  return found
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}
`

/** `vox-push-worker.js`: the service worker that receives push messages in a browser. */
export const PUSH_WORKER = `self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', event => event.waitUntil(self.clients.claim()))
self.addEventListener('push', event => event.waitUntil(received(event.data === null ? '' : event.data.text())))
self.addEventListener('notificationclick', event => {
  event.notification.close()
  event.waitUntil(acted(event.notification.data, event.action === '' ? 'tap' : event.action))
})

/** Notifies the pages. Shows a notification if no page is visible. */
async function received(text) {
  const message = messageOf(text)
  const pages = await pagesNow()
  for (const page of pages) page.postMessage({ type: 'vox-push', message })
  if (pages.some(page => page.visibilityState === 'visible')) return
  await self.registration.showNotification(message.title, { body: message.body, data: message })
}

async function acted(message, action) {
  const [first] = await pagesNow()
  const page = first ?? (await self.clients.openWindow(new URL('/', self.location.href)))
  if (first !== undefined) await first.focus()
  if (page !== null) page.postMessage({ type: 'vox-push-action', message, action })
}

async function pagesNow() {
  return await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
}

/** Parses JSON with \`title\`, \`body\` and \`data\`; any other text becomes the body. */
function messageOf(text) {
  let found = {}
  try {
    found = Object(JSON.parse(text))
  } catch {
    found = { body: text }
  }
  const { title = '', body = '', data = null } = found
  return { title: String(title), body: String(body), data: JSON.stringify(data) }
}
`
