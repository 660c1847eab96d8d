import { error, info, type Rule, warning } from './subject.ts'
import { imagesOf, offsetsOf, places } from './text.ts'

const ACTIVE_HTML =
  /<(?:script|iframe|object|embed|form|meta|link|base)\b|\bjavascript:|<[a-z]{1,20} [^<>]{0,500}\bon[a-z]{3,20}=/gi
const PLACEHOLDER = /\b(?:TODO|TBD|FIXME|XXX)\b|\blorem ipsum\b|\{\{[^{}\n]{0,100}\}\}/g
const INSECURE = /\bhttp:\/\/(?!localhost\b|127\.0\.0\.1\b)[^\s]/g

/** Rules of `news_inbound`: what must not reach readers of news. */
export const NEWS_RULES: readonly Rule[] = [
  ({ content: { content_type } }) =>
    content_type === 'news_item'
      ? []
      : [error('news_type_invalid', `The kind of the publication is ${content_type}, not news_item.`)],
  ({ content: { body_markdown: text } }) => {
    const offsets = offsetsOf(text, ACTIVE_HTML)
    return offsets.length === 0
      ? []
      : [error('news_active_html', `The text has HTML that runs or loads something (${places(text, offsets)}).`)]
  },
  ({ content: { title, body_markdown: text } }) => {
    const offsets = offsetsOf(text, PLACEHOLDER)
    if (offsets.length > 0) return [error('news_placeholder', `The text has a placeholder (${places(text, offsets)}).`)]
    return offsetsOf(title, PLACEHOLDER).length > 0 ? [error('news_placeholder', 'The title has a placeholder.')] : []
  },
  ({ content: { body_markdown: text } }) => {
    const offsets = imagesOf(text)
      .filter(({ alt }) => alt.trim() === '')
      .map(({ offset }) => offset)
    return offsets.length === 0
      ? []
      : [warning('news_image_alt_missing', `An image has no description (${places(text, offsets)}).`)]
  },
  ({ content: { body_markdown: text } }) => {
    const offsets = offsetsOf(text, INSECURE)
    return offsets.length === 0 ? [] : [info('news_link_insecure', `A link is not HTTPS (${places(text, offsets)}).`)]
  }
]
