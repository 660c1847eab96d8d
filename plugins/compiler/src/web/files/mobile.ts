import type { Member } from '../../syntax/ast-expressions.ts'
import { walk } from '../../syntax/walk.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { isMobileImport, usedHooks } from '../app-hooks/used-hooks.ts'
import { itemsOf, type WebModule } from '../web-module.ts'

const bridge = (
  pushes: boolean
): string => `import { dataUrlOf, firstFile, once, type SpeechRecognition } from './mobile-utils'${pushes ? "\nimport { pushListeners, registerForPush } from './mobile'" : ''}

export type MobileResult<T> =
  | { readonly _tag: 'Ok'; readonly value: T }
  | { readonly _tag: 'Err'; readonly value: string }

type MobilePromise<T> = Promise<MobileResult<T>>

/** Features of a device. An app around the page may replace them in \`globalThis.voxMobile\`. */
export interface MobileBridge {
  notify(title: string, body: string): MobilePromise<null>
  vibrate(): MobilePromise<null>
  /** A picture as a \`data:\` URL. */
  take_photo(): MobilePromise<string>
  take_photo_from_gallery(): MobilePromise<string>
  /** JSON with \`latitude\`, \`longitude\` and \`accuracy\` in metres. */
  get_location(): MobilePromise<string>
  /** JSON with \`x\`, \`y\` and \`z\` in metres per second squared. */
  accelerometer(): MobilePromise<string>
  transcribe_microphone(): MobilePromise<string>
  /** JSON: a list of records with \`name\` and \`tel\`. */
  read_contacts(): MobilePromise<string>
  read_clipboard(): MobilePromise<string>
  biometric_auth(reason: string): MobilePromise<null>
  share_text(text: string): MobilePromise<null>
  store_file(name: string, data: string): MobilePromise<null>
  read_file(name: string): MobilePromise<string>
  copy_to_clipboard(text: string): MobilePromise<null>
  platform(): string
  has_camera(): boolean${pushes ? PUSH_TYPE : ''}
}

const browser: MobileBridge = {
  notify: (title, body) =>
    attempt(async () => {
      if ((await Notification.requestPermission()) !== 'granted') throw new Error('notifications are not allowed')
      new Notification(title, { body })
      return null
    }),
  vibrate: () =>
    attempt(async () => {
      if (!navigator.vibrate?.(200)) throw new Error('this device cannot vibrate')
      return null
    }),
  take_photo: () => attempt(async () => await dataUrlOf(await firstFile('image/*', 'environment'))),
  take_photo_from_gallery: () => attempt(async () => await dataUrlOf(await firstFile('image/*', null))),
  get_location: () =>
    attempt(async () => {
      const found = await new Promise<GeolocationPosition>((resolve, reject) => {
        navigator.geolocation.getCurrentPosition(resolve, error => reject(new Error(error.message)))
      })
      const { latitude, longitude, accuracy } = found.coords
      return JSON.stringify({ latitude, longitude, accuracy })
    }),
  accelerometer: () =>
    attempt(async () => {
      const { accelerationIncludingGravity: found } = await once<DeviceMotionEvent>('devicemotion', 2000)
      return JSON.stringify({ x: found?.x ?? 0, y: found?.y ?? 0, z: found?.z ?? 0 })
    }),
  transcribe_microphone: () =>
    attempt(async () => {
      const { SpeechRecognition, webkitSpeechRecognition } = globalThis as SpeechRecognition
      const Recognition = SpeechRecognition ?? webkitSpeechRecognition
      if (Recognition === undefined) throw new Error('this browser does not support speech recognition')
      const recognition = new Recognition()
      return await new Promise<string>((resolve, reject) => {
        recognition.onresult = event => resolve(event.results[0]?.[0]?.transcript ?? '')
        recognition.onerror = event => reject(new Error(event.error))
        recognition.start()
      })
    }),
  read_contacts: () =>
    attempt(async () => {
      const { contacts } = navigator as Navigator & {
        readonly contacts?: { select(keys: string[], options: object): Promise<unknown> }
      }
      if (contacts === undefined) throw new Error('this browser does not provide contacts')
      return JSON.stringify(await contacts.select(['name', 'tel'], { multiple: true }))
    }),
  read_clipboard: () => attempt(async () => await navigator.clipboard.readText()),
  biometric_auth: reason =>
    attempt(async () => {
      throw new Error(\`a browser cannot authenticate with a fingerprint or a face (\${reason})\`)
    }),
  share_text: text =>
    attempt(async () => {
      await navigator.share({ text })
      return null
    }),
  store_file: (name, data) =>
    attempt(async () => {
      localStorage.setItem(\`vox-file:\${name}\`, data)
      return null
    }),
  read_file: name =>
    attempt(async () => {
      const data = localStorage.getItem(\`vox-file:\${name}\`)
      if (data === null) throw new Error(\`there is no file \${name}\`)
      return data
    }),
  copy_to_clipboard: text =>
    attempt(async () => {
      await navigator.clipboard.writeText(text)
      return null
    }),
  platform: () => (/android/i.test(navigator.userAgent) ? 'android' : /iphone|ipad/i.test(navigator.userAgent) ? 'ios' : 'web'),
  has_camera: () => navigator.mediaDevices !== undefined${pushes ? PUSH : ''}
}

/** The device on which the page runs. */
export const mobile: MobileBridge = {
  ...browser,
  ...(globalThis as { readonly voxMobile?: Partial<MobileBridge> }).voxMobile
}

async function attempt<T>(run: () => Promise<T>): MobilePromise<T> {
  try {
    return { _tag: 'Ok', value: await run() }
  } catch (error) {
    return { _tag: 'Err', value: error instanceof Error ? error.message : String(error) }
  }
}
`

const PUSH_TYPE = `
  readonly push: {
    /** The push target: the token of a mobile device, or the subscription of a browser as JSON. */
    register(): MobilePromise<string>
    /** \`listener\` receives each message, as JSON. */
    on_message(listener: (message: string) => void): MobilePromise<null>
  }`

const PUSH = `,
  push: {
    register: () => attempt(registerForPush),
    on_message: listener =>
      attempt(async () => {
        pushListeners.add(listener)
        return null
      })
  }`

const UTILS = `/** Lets the user choose a file. \`capture\` opens that camera directly, if the device has it. */
export async function firstFile(accept: string, capture: 'environment' | 'user' | null): Promise<File> {
  const input = document.createElement('input')
  input.type = 'file'
  input.accept = accept
  if (capture !== null) input.setAttribute('capture', capture)
  return await new Promise<File>((resolve, reject) => {
    input.addEventListener('change', () => {
      const file = input.files?.[0]
      if (file === undefined) reject(new Error('no file was chosen'))
      else resolve(file)
    })
    input.addEventListener('cancel', () => reject(new Error('no file was chosen')))
    input.click()
  })
}

export async function dataUrlOf(file: Blob): Promise<string> {
  return await new Promise<string>((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(new Error('the file cannot be read'))
    reader.readAsDataURL(file)
  })
}

/** Resolves to the next event of the window; rejects after \`milliseconds\` without one. */
export async function once<E extends Event>(name: string, milliseconds: number): Promise<E> {
  return await new Promise<E>((resolve, reject) => {
    const timer = setTimeout(() => {
      window.removeEventListener(name, listener)
      reject(new Error(\`no \${name} within \${milliseconds} ms\`))
    }, milliseconds)
    const listener = (event: Event) => {
      clearTimeout(timer)
      resolve(event as E)
    }
    window.addEventListener(name, listener, { once: true })
  })
}

interface Recognition {
  onresult: (event: { readonly results: ArrayLike<ArrayLike<{ readonly transcript: string }>> }) => void
  onerror: (event: { readonly error: string }) => void
  start(): void
}

/** The speech recognition API of browsers. */
export interface SpeechRecognition {
  readonly SpeechRecognition?: new () => Recognition
  readonly webkitSpeechRecognition?: new () => Recognition
}
`

/** Generates `mobile-bridge.ts` and `mobile-utils.ts` for programs that use `std.mobile`. */
export function mobileFiles(web: WebModule): EmittedFile[] {
  if (!usesMobile(web)) return []
  return [
    { path: 'mobile-bridge.ts', text: [header(web.name), bridge(usedHooks(web.module)?.usesPush === true)].join('\n') },
    { path: 'mobile-utils.ts', text: [header(web.name), UTILS].join('\n') }
  ]
}

function usesMobile({ module }: WebModule): boolean {
  if (itemsOf(module, 'Import').some(({ items }) => items.some(isMobileImport))) return true
  let isUsed = false
  walk(module, node => {
    if (node.kind === 'Member') {
      const { object, property } = node as unknown as Member
      if (property.text === 'mobile' && object.kind === 'Identifier' && object.name === 'std') isUsed = true
    }
    return !isUsed
  })
  return isUsed
}
