import type { NewsChannel, NewsPost } from '@svc/contracts'
import { cutText } from '../text/cut.ts'
import { codeUnits, type Meter } from '../text/meters.ts'
import { channelText } from './derived-text.ts'

const TITLE = codeUnits(80)
/** Hacker News shows about this much of a comment without a click. */
const COMMENT: Meter = codeUnits(2_000)
const SUBMIT = 'https://news.ycombinator.com/submitlink'

interface Options {
  readonly title?: string
  readonly text?: string
}

const OPTIONS = {
  type: 'object',
  properties: {
    title: { type: 'string', pattern: '\\S', maxLength: 200 },
    text: { type: 'string', pattern: '\\S', maxLength: 2_000 }
  },
  additionalProperties: false
} as const

/** Prepares a submission to Hacker News, which has no API for it: a person opens the address and submits. Sends nothing. */
export function hackerNewsChannel(): NewsChannel {
  return {
    name: 'hacker_news',
    aliases: ['hn'],
    summary: 'Prepares the address and texts with which a person submits to Hacker News; sends nothing',
    live: false,
    options: OPTIONS,
    retry: 'minimal',
    problem: async () => null,
    async preview(post) {
      const submit = submitAddress(post)
      return [
        channelText('title', titleOf(post), TITLE),
        channelText('address to open', submit, codeUnits(Math.max(submit.length, 2_048))),
        channelText('text for a first comment', commentOf(post), COMMENT)
      ]
    },
    async send(post, { attemptKey }) {
      return { externalId: `manual_assist:${attemptKey.slice(0, 12)}`, url: submitAddress(post) }
    }
  }
}

function titleOf(post: NewsPost): string {
  return cutText(((post.options as Options).title ?? post.title).trim(), { meters: [TITLE] })
}

function commentOf(post: NewsPost): string {
  return cutText(((post.options as Options).text ?? post.summary).trim(), { meters: [COMMENT] })
}

function submitAddress(post: NewsPost): string {
  return `${SUBMIT}?${new URLSearchParams({ u: post.link, t: titleOf(post) }).toString()}`
}
