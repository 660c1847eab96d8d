import type { NewsChannel } from '@svc/contracts'
import type { ChannelFactory, ChannelParts } from './parts.ts'

/** The channels of this plugin. Other plugins contribute theirs to the same point. */
const FACTORIES: readonly ChannelFactory[] = []

export function builtInChannels(parts: ChannelParts): readonly NewsChannel[] {
  return FACTORIES.map(create => create(parts))
}
