import { objectOf, textsOf } from './json.ts'
import { error, info, type Rule, type Subject, warning } from './subject.ts'

/** Shape of an SPDX id or of an expression of one id, such as `CC-BY-4.0`. */
const LICENSE = /^[A-Za-z0-9][A-Za-z0-9.+-]{0,99}$/
const DOI = /^10\.\d{4,9}\/\S{1,500}$/
const LANGUAGE = /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}$/

/** Rules of `metadata_complete`: what archives require, and what makes a work easy to find. */
export const METADATA_RULES: readonly Rule[] = [
  ({ content: { abstract_text } }) =>
    (abstract_text ?? '').trim() === '' ? [error('abstract_required', 'An abstract is required.')] : [],
  ({ metadata }) => {
    const license = metadata?.license
    if (license === undefined || license === '')
      return [error('license_required', 'metadata.license is required, such as CC-BY-4.0.')]
    return typeof license === 'string' && LICENSE.test(license)
      ? []
      : [error('license_invalid', 'metadata.license is not an SPDX id, such as CC-BY-4.0.')]
  },
  ({ metadata }) =>
    textsOf(metadata?.keywords).length === 0 ? [warning('keywords_missing', 'metadata.keywords is empty.')] : [],
  ({ metadata }) => {
    const date = metadata?.publication_date
    if (date === undefined) return [info('publication_date_missing', 'metadata.publication_date is missing.')]
    return isDate(date)
      ? []
      : [error('publication_date_invalid', 'metadata.publication_date is not a day of the form YYYY-MM-DD.')]
  },
  ({ metadata }) => {
    const { language } = metadata ?? {}
    if (language === undefined) return [info('language_missing', 'metadata.language is missing, such as en.')]
    return typeof language === 'string' && LANGUAGE.test(language)
      ? []
      : [error('language_invalid', 'metadata.language is not a language tag, such as en.')]
  },
  ({ metadata }) => {
    const { doi } = metadata ?? {}
    return doi === undefined || (typeof doi === 'string' && DOI.test(doi))
      ? []
      : [error('doi_invalid', 'metadata.doi is not a DOI of the form 10.1234/suffix.')]
  },
  creators,
  ({ content: { citations_json } }) =>
    citations_json === null ? [info('citations_missing', 'There are no citations.')] : [],
  ({ citations }) => {
    const untitled = (citations ?? []).filter(({ title }) => typeof title !== 'string' || title.trim() === '').length
    return untitled === 0 ? [] : [warning('citation_incomplete', `${untitled} citations have no title.`)]
  }
]

function creators({ metadata }: Subject) {
  const list = metadata?.creators
  if (list === undefined) return [info('creators_missing', 'metadata.creators is missing; the field author is used.')]
  if (!Array.isArray(list) || list.length === 0)
    return [error('creators_invalid', 'metadata.creators is not a list of creators with a name.')]
  const items = list.map(each => objectOf(typeof each === 'string' ? null : each))
  const unnamed = items.filter(each => typeof each?.name !== 'string' || each.name.trim() === '').length
  const badIds = items.filter(each => each?.orcid !== undefined && !isOrcid(each.orcid)).length
  return [
    ...(unnamed > 0 ? [error('creators_invalid', `${unnamed} of metadata.creators have no name.`)] : []),
    ...(badIds > 0 ? [error('orcid_invalid', `${badIds} of metadata.creators have an ORCID that is not valid.`)] : [])
  ]
}

function isDate(value: unknown): boolean {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false
  const at = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(value)
}

/** Checks the digits of an ORCID (ISO 7064, MOD 11-2). */
export function isOrcid(value: unknown): boolean {
  if (typeof value !== 'string') return false
  const id = value.trim().replace(/^https?:\/\/orcid\.org\//i, '')
  if (!/^\d{4}-\d{4}-\d{4}-\d{3}[\dX]$/.test(id)) return false
  const digits = id.replaceAll('-', '')
  let total = 0
  for (const digit of digits.slice(0, 15)) total = (total + Number(digit)) * 2
  const check = (12 - (total % 11)) % 11
  return digits[15] === (check === 10 ? 'X' : String(check))
}
