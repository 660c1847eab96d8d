import type { PreflightFinding } from '@svc/contracts'
import { objectOf } from './json.ts'
import { error, info, type Rule, type Subject, warning } from './subject.ts'
import { imagesOf, type MarkdownImage, places } from './text.ts'

/** Limits and licenses: https://info.arxiv.org/help/prep.html and https://info.arxiv.org/help/license/index.html. */
const MAX_ABSTRACT_CHARACTERS = 1_920
const MAX_COMMENTS_CHARACTERS = 400
const LICENSES: ReadonlySet<string> = new Set([
  'CC-BY-4.0',
  'CC-BY-SA-4.0',
  'CC-BY-NC-SA-4.0',
  'CC-BY-NC-ND-4.0',
  'CC0-1.0',
  'arXiv-nonexclusive-distrib-1.0'
])
const CATEGORY = /^[a-z]{2,8}(?:-[a-z]{2,5})?(?:\.[A-Za-z]{2}(?:-[a-z]{2,4})?|\.[a-z-]{2,20})?$/
/** Characters of file names that arXiv keeps. */
const FILE_NAME = /^[A-Za-z0-9_+\-.,=/]+$/
/** Formats that PDFLaTeX reads. */
const FORMATS = /\.(?:pdf|png|jpe?g)$/i
const SCHEME = /^(?:[a-z][a-z0-9+.-]{0,30}:|\/\/)/i
const CITATION = /(?:\[-?|;[ \t]?-?)@([A-Za-z0-9_][\w:.#$%&+?<>~/-]{0,200})/g

/** Rules of `arxiv_assist`: what makes a bundle for arXiv from the publication. */
export const ARXIV_RULES: readonly Rule[] = [
  ({ content: { abstract_text } }) => {
    const { length } = [...(abstract_text ?? '').trim()]
    if (length === 0) return [error('abstract_required', 'An abstract is required.')]
    return length <= MAX_ABSTRACT_CHARACTERS
      ? []
      : [
          error(
            'arxiv_abstract_long',
            `The abstract has ${length} characters; the limit of arXiv is ${MAX_ABSTRACT_CHARACTERS}.`
          )
        ]
  },
  ({ metadata }) => {
    const license = metadata?.license
    if (typeof license !== 'string' || license === '')
      return [warning('arxiv_license_missing', 'metadata.license is missing; choose one of arXiv during the upload.')]
    return LICENSES.has(license)
      ? []
      : [warning('arxiv_license_unsupported', `arXiv does not offer the license ${license.slice(0, 100)}.`)]
  },
  categories,
  ({ metadata }) => {
    const comments = objectOf(metadata?.arxiv)?.comments
    return typeof comments === 'string' && comments.length > MAX_COMMENTS_CHARACTERS
      ? [error('arxiv_comments_long', `metadata.arxiv.comments has more than ${MAX_COMMENTS_CHARACTERS} characters.`)]
      : []
  },
  images,
  citedKeys
]

function categories({ metadata }: Subject): PreflightFinding[] {
  const { primary_category, categories: others } = objectOf(metadata?.arxiv) ?? {}
  if (primary_category === undefined)
    return [info('arxiv_category_missing', 'metadata.arxiv.primary_category is missing, such as cs.LG.')]
  const all = [primary_category, ...(Array.isArray(others) ? others : [])]
  return all.every(each => typeof each === 'string' && CATEGORY.test(each))
    ? []
    : [error('arxiv_category_invalid', 'metadata.arxiv has a category that is not of the form cs.LG.')]
}

function images({ content: { body_markdown: text } }: Subject): PreflightFinding[] {
  const found = imagesOf(text)
  const report = (code: string, problem: string, matches: (image: MarkdownImage) => boolean) => {
    const offsets = found.filter(matches).map(({ offset }) => offset)
    return offsets.length === 0 ? [] : [error(code, `${problem} (${places(text, offsets)}).`)]
  }
  const isRemote = ({ target }: MarkdownImage) => SCHEME.test(target)
  const isOutside = (image: MarkdownImage) => !isRemote(image) && !isInside(image.target)
  return [
    ...report('arxiv_image_remote', 'An image is not a file of the bundle', isRemote),
    ...report('arxiv_path_outside', 'An image is outside of the bundle, or hidden', isOutside),
    ...report(
      'arxiv_image_format',
      'An image is no PDF, PNG or JPEG file',
      image => !isRemote(image) && !FORMATS.test(image.target)
    ),
    ...report(
      'arxiv_file_name',
      'The name of an image has characters that arXiv removes',
      image => !isRemote(image) && !FILE_NAME.test(image.target)
    )
  ]
}

/** Returns whether a path stays in its folder and has no hidden part. */
function isInside(path: string): boolean {
  return !path.startsWith('/') && path.split('/').every(part => part === '.' || (part !== '' && !part.startsWith('.')))
}

function citedKeys({ content: { body_markdown: text }, citations }: Subject): PreflightFinding[] {
  const known = new Set((citations ?? []).map(({ id }) => String(id)))
  const offsets: number[] = []
  for (const { index, 1: key = '' } of text.matchAll(CITATION)) {
    // A full stop or colon at the end belongs to the sentence.
    if (known.has(key) || known.has(key.replace(/[.:]$/, ''))) continue
    offsets.push(index)
    if (offsets.length === 1_000) break
  }
  return offsets.length === 0
    ? []
    : [error('arxiv_citation_unknown', `A citation has no item in citations_json (${places(text, offsets)}).`)]
}
