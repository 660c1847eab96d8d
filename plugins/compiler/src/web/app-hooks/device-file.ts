import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import type { UsedHooks } from './used-hooks.ts'

const APP = `/** The used part of Capacitor's plugin \`App\`. */
export interface AppPlugin {
  addListener(event: 'backButton', listener: (event: { readonly canGoBack: boolean }) => void): Listening
  addListener(event: 'appUrlOpen', listener: (event: { readonly url: string }) => void): Listening
  getLaunchUrl(): Promise<{ readonly url: string } | undefined>
  exitApp(): Promise<void>
}
`

const PUSH = `export interface PushMessage {
  readonly title?: string
  readonly body?: string
  readonly data?: unknown
}

/** The used part of Capacitor's plugin \`PushNotifications\`. */
export interface PushPlugin {
  addListener(event: 'registration', listener: (event: { readonly value: string }) => void): Listening
  addListener(event: 'registrationError', listener: (event: { readonly error: string }) => void): Listening
  addListener(event: 'pushNotificationReceived', listener: (event: PushMessage) => void): Listening
  addListener(
    event: 'pushNotificationActionPerformed',
    listener: (event: { readonly actionId: string; readonly notification: PushMessage }) => void
  ): Listening
  checkPermissions(): Promise<{ readonly receive: string }>
  requestPermissions(): Promise<{ readonly receive: string }>
  register(): Promise<void>
}
`

const LISTENING = `/** A registered listener. Capacitor's bridge returns it directly, its packages return a promise. */
export type Listening = Stoppable | Promise<Stoppable>

interface Stoppable {
  remove(): unknown
}
`

/**
 * `mobile-device.ts`: the Capacitor plugins that the hooks use. Without a mobile target, it uses the plugins that a
 * surrounding app injects, so that no package is needed.
 */
export function deviceFile(name: string, { app, push }: UsedHooks, isMobile: boolean): EmittedFile {
  const imports = [
    ...(app ? ["import { App } from '@capacitor/app'"] : []),
    "import { Capacitor } from '@capacitor/core'",
    ...(push ? ["import { PushNotifications } from '@capacitor/push-notifications'"] : [])
  ]
  const shell = `interface Shell {
  readonly Plugins?: {${app ? '\n    readonly App?: AppPlugin' : ''}${push ? '\n    readonly PushNotifications?: PushPlugin' : ''}
  }
  getPlatform(): string
  isNativePlatform(): boolean
}

/** Returns the Capacitor app around the page, if any. */
function shell(): Shell | undefined {
  return (globalThis as { readonly Capacitor?: Shell }).Capacitor
}
`
  const found = (plugin: string): string =>
    isMobile
      ? `Capacitor.isNativePlatform() ? ${plugin} : undefined`
      : `shell()?.isNativePlatform() === true ? shell()?.Plugins?.${plugin} : undefined`
  const parts = [
    header(name),
    ...(isMobile ? [`${imports.join('\n')}\n`] : []),
    LISTENING,
    ...(app ? [APP] : []),
    ...(push ? [PUSH] : []),
    ...(isMobile ? [] : [shell]),
    ...(app
      ? [
          `/** Returns the plugin \`App\`; undefined in a browser. */\nexport function nativeApp(): AppPlugin | undefined {\n  return ${found('App')}\n}\n`
        ]
      : []),
    ...(push
      ? [
          `/** Returns the plugin \`PushNotifications\`; undefined in a browser. */\nexport function nativePush(): PushPlugin | undefined {\n  return ${found('PushNotifications')}\n}\n`
        ]
      : []),
    `/** Returns \`web\`, \`android\` or \`ios\`. */\nexport function platform(): string {\n  return ${isMobile ? 'Capacitor.getPlatform()' : "shell()?.getPlatform() ?? 'web'"}\n}\n`
  ]
  return { path: 'mobile-device.ts', text: parts.join('\n') }
}
