import { type NewsChannel, type NewsPost, RemoteFailure } from '@svc/contracts'
import { codeUnits } from '../text/meters.ts'
import { addressOf, fieldAt, textAt } from './answer.ts'
import { channelText } from './derived-text.ts'
import type { ChannelParts } from './parts.ts'

const SERVICE = 'crates.io'
const ADDRESS = codeUnits(256)

interface Options {
  readonly crate: string
  readonly version: string
}

const OPTIONS = {
  type: 'object',
  properties: {
    crate: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$' },
    version: {
      type: 'string',
      maxLength: 100,
      pattern: '^(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)(?:[-+][0-9A-Za-z.+-]+)?$'
    }
  },
  required: ['crate', 'version'],
  additionalProperties: false
} as const

/**
 * Records the address of a crate version. crates.io has no way to post a text, so that nothing is sent there: the channel
 * only checks that the version of the item is published.
 */
export function cratesIoChannel(parts: ChannelParts): NewsChannel {
  return {
    name: 'crates_io',
    summary: 'Checks that a crate version is on crates.io and records its address; posts nothing',
    live: true,
    options: OPTIONS,
    retry: 'minimal',
    problem: async () => null,
    async preview(post) {
      return [channelText('address', addressFor(post), ADDRESS)]
    },
    async send(post, { http }) {
      const { crate, version } = post.options as unknown as Options
      const path = `/api/v1/crates/${encodeURIComponent(crate)}/${encodeURIComponent(version)}`
      const answer = await http.named(SERVICE).send({
        method: 'GET',
        url: addressOf(parts.settings().crates_io_api_base, path),
        headers: { accept: 'application/json' },
        accept: [404]
      })
      if (answer.status === 404)
        throw new RemoteFailure(`${SERVICE}: ${crate} ${version} is not there; publish the crate first`, {
          failureClass: 'fatal',
          code: 'crate_version_unknown',
          httpStatus: 404
        })
      const found = answer.json()
      if (textAt(found, 'version', 'num') !== version) throw unreadable()
      if (fieldAt(found, 'version', 'yanked') === true)
        throw new RemoteFailure(`${SERVICE}: ${crate} ${version} is yanked; name another version`, {
          failureClass: 'fatal',
          code: 'crate_version_yanked'
        })
      return { externalId: `${crate}@${version}`, url: addressFor(post) }
    }
  }
}

function unreadable(): RemoteFailure {
  return new RemoteFailure(`${SERVICE}: the answer does not name the version; check news.crates_io_api_base`, {
    failureClass: 'fatal',
    code: 'answer_invalid'
  })
}

function addressFor(post: NewsPost): string {
  const { crate, version } = post.options as unknown as Options
  return `https://crates.io/crates/${crate}/${version}`
}
