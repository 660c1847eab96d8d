import type { DeclaredSecretResolver, NewsChannel } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { Settings } from '../settings.ts'

/** What the built-in channels share. */
export interface ChannelParts {
  /** Returns the current settings. */
  readonly settings: () => Settings
  readonly projectRoot: string
  readonly log: Logger
  /** Returns the resolver of declared secrets, if the plugin `secrets` runs. */
  readonly secrets: () => DeclaredSecretResolver | undefined
}

export type ChannelFactory = (parts: ChannelParts) => NewsChannel
