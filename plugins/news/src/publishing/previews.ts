import type { ChannelText, NewsChannel } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import type { NewsItem } from '../items/item.ts'
import type { Settings } from '../settings.ts'
import { digestOf, postOf, requestedChannels } from './compose.ts'

export interface Preview {
  readonly channel: string
  readonly summary: string
  /** Why the channel cannot be used, or cannot send this item; null if it can. */
  readonly problem: string | null
  readonly texts: readonly ChannelText[]
}

/** Returns the texts of each requested channel, without sending anything. `only`: names of channels. */
export async function previewsOf(
  item: NewsItem,
  known: readonly NewsChannel[],
  settings: Settings,
  only: readonly string[] | undefined
): Promise<readonly Preview[]> {
  const digest = digestOf(item, settings)
  const requested = requestedChannels(item, known)
  const previews: Preview[] = []
  for (const name of new Set(only ?? requested.keys())) {
    const options = requested.get(name)
    const channel = known.find(each => each.name === name)
    if (channel === undefined) continue
    const { summary } = channel
    if (!options) {
      // Only a call that names the channel expects it.
      if (only !== undefined) previews.push({ channel: name, summary, problem: whyNot(options), texts: [] })
      continue
    }
    try {
      const texts = await channel.preview(postOf(item, name, options, digest, settings))
      const problem = await channel.problem()
      previews.push({ channel: name, summary, problem: problem?.message ?? null, texts })
    } catch (error) {
      // A channel of another plugin may fail in any way; the others are shown.
      previews.push({ channel: name, summary, problem: errorMessage(error), texts: [] })
    }
  }
  return previews
}

function whyNot(options: false | null | undefined): string {
  if (options === null) return 'the item does not give the options that this channel needs'
  return options === false ? 'the item excludes this channel' : 'the item does not request this channel'
}
