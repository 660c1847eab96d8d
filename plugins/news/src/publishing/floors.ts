import type { NewsChannel } from '@svc/contracts'
import { closest } from '@svc/plugin-sdk'
import { newsErrors } from '../errors.ts'

const NAME = /^[a-z][a-z0-9_]*$/

/** Parses `channel=floor,channel=floor`. Throws `NEWS_SETTINGS_INVALID`, since an ignored floor would let items through. */
export function parseFloors(text: string): ReadonlyMap<string, number> {
  const floors = new Map<string, number>()
  for (const entry of text.split(',').map(each => each.trim())) {
    if (entry === '') continue
    const [name = '', value = '', ...more] = entry.split('=').map(each => each.trim())
    const floor = /^(\d+(\.\d*)?|\.\d+)$/.test(value) ? Number(value) : Number.NaN
    if (!NAME.test(name) || more.length > 0 || !(floor >= 0 && floor <= 1)) {
      throw refused(
        `"${entry.slice(0, 80)}" is invalid`,
        'write entries such as twitter=.9, with numbers from 0 to 1; variable SVC_SOCIAL_CHANNEL_WORTHINESS_FLOORS'
      )
    }
    floors.set(name, Math.max(floor, floors.get(name) ?? 0))
  }
  return floors
}

/**
 * Returns floors by the names of channels, which the text may call by their aliases. Of several floors the highest
 * counts. Throws `NEWS_SETTINGS_INVALID`, also for a channel that no plugin provides: its floor would be lost.
 */
export function floorsOf(
  text: string,
  channels: readonly Pick<NewsChannel, 'name' | 'aliases'>[]
): ReadonlyMap<string, number> {
  const floors = new Map<string, number>()
  for (const [given, floor] of parseFloors(text)) {
    const channel = channels.find(({ name, aliases = [] }) => name === given || aliases.includes(given))
    if (channel === undefined) {
      const names = channels.map(({ name }) => name)
      const near = closest(given, names)
      const hint = near === undefined ? `use one of: ${names.join(', ')}` : `did you mean ${near}?`
      throw refused(`no plugin provides the channel ${given}`, hint)
    }
    floors.set(channel.name, Math.max(floor, floors.get(channel.name) ?? 0))
  }
  return floors
}

function refused(problem: string, hint: string): Error {
  return newsErrors.create('NEWS_SETTINGS_INVALID', `channel_worthiness_floors: ${problem}`, {
    hint,
    at: { path: 'news.channel_worthiness_floors' }
  })
}
