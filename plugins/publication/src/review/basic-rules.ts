import { error, info, MAX_CREATORS, type Rule, warning } from './subject.ts'

const MAX_USUAL_TITLE = 300

/** Rules of every profile: the fields are there, and the JSON texts can be read. */
export const BASIC_RULES: readonly Rule[] = [
  ({ content: { title } }) => {
    if (title.trim() === '') return [error('title_empty', 'The title is empty.')]
    if (title.length > MAX_USUAL_TITLE)
      return [
        warning('title_long', `The title has ${title.length} characters; many services accept ${MAX_USUAL_TITLE}.`)
      ]
    return []
  },
  ({ content: { author } }) => (author.trim() === '' ? [error('author_empty', 'The author is empty.')] : []),
  ({ content: { body_markdown } }) =>
    body_markdown.trim() === '' ? [error('body_empty', 'The text of the publication is empty.')] : [],
  ({ content: { abstract_text } }) =>
    (abstract_text ?? '').trim() === '' ? [info('abstract_missing', 'There is no abstract.')] : [],
  ({ content: { citations_json }, citations }) =>
    citations_json !== null && citations === null
      ? [error('citations_json_invalid', 'citations_json is not a JSON array of objects.')]
      : [],
  ({ content: { metadata_json }, metadata }) =>
    metadata_json !== null && metadata === null
      ? [error('metadata_json_invalid', 'metadata_json is not a JSON object.')]
      : [],
  ({ metadata }) =>
    Array.isArray(metadata?.creators) && metadata.creators.length > MAX_CREATORS
      ? [error('creators_too_many', `There are ${metadata.creators.length} creators; the limit is ${MAX_CREATORS}.`)]
      : []
]
