import type { DeclaredSecretResolver, KernelAdmin, NewsChannel } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { Settings } from '../settings.ts'

/** Dependencies of the built-in channels. */
export interface ChannelParts {
  /** Returns the current settings. */
  readonly settings: () => Settings
  readonly projectRoot: string
  readonly log: Logger
  /** Returns the resolver of declared secrets, if the plugin `secrets` runs. */
  readonly secrets: () => DeclaredSecretResolver | undefined
  /** Returns the reports of settings, so that strict profiles can refuse credentials that are not from a backend. */
  readonly admin?: () => Pick<KernelAdmin, 'settings'> | undefined
}

export type ChannelFactory = (parts: ChannelParts) => NewsChannel
