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
      throw newsErrors.create(
        'NEWS_SETTINGS_INVALID',
        `channel_worthiness_floors: "${entry.slice(0, 80)}" is invalid`,
        {
          hint: 'write entries such as twitter=.9, with numbers from 0 to 1; variable SVC_SOCIAL_CHANNEL_WORTHINESS_FLOORS',
          at: { path: 'news.channel_worthiness_floors' }
        }
      )
    }
    floors.set(name, floor)
  }
  return floors
}
