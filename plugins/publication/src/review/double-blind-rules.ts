import type { PreflightFinding } from '@svc/contracts'
import { objectOf } from './json.ts'
import { isOrcid } from './metadata-rules.ts'
import { type Creator, error, type Rule, type Subject, warning } from './subject.ts'
import { emailOffsets, folded, indexOfWord, offsetsOf, places } from './text.ts'

/** Characters of text times names that are searched. Texts of authors are far below. */
const MAX_SEARCHED = 128 * 1024 * 1024
const MIN_SURNAME_CHARACTERS = 4
const MIN_AFFILIATION_CHARACTERS = 4
const MAX_NAMED = 5
/**
 * Characters of a name that is searched. The search of longer ones takes, for some texts, time in proportion to text times
 * name.
 */
const MAX_NAME_CHARACTERS = 240

const ORCID = /\b\d{4}-\d{4}-\d{4}-\d{3}[\dX]\b/g
const ORCID_URL = /\borcid\.org\//gi
const HOSTED =
  /https?:\/\/(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org|git\.sr\.ht|huggingface\.co|osf\.io|[a-z0-9-]{1,63}\.github\.io)\/?[^\s()<>[\]"'`]{0,200}/gi
const HEADING = /^ {0,3}(?:#{1,6}[ \t]{1,8}|\*\*)(?:acknowledge?ments?|funding|danksagung(?:en)?|remerciements)\b/gim
const THANKS =
  /\b(?:we|the authors?|i)[ \n]{1,2}(?:would[ \n]{1,2}like[ \n]{1,2}to[ \n]{1,2})?(?:thank|gratefully[ \n]{1,2}acknowledge)\b/gi
const FUNDING =
  /\b(?:supported|funded|financed)[ \n]{1,2}(?:in[ \n]{1,2}part[ \n]{1,2})?by[ \n]{1,2}(?:the|a|an|grants?|project)\b/gi
const OWN_WORK =
  /\b(?:our|my)[ \n]{1,2}(?:earlier|previous|prior|past|recent|own|former)[ \n]{1,2}(?:works?|papers?|stud(?:y|ies)|articles?|results?|publications?|systems?|research|approach|experiments?)\b/gi
const WE_SHOWED =
  /\b(?:we|i)[ \n]{1,2}(?:have[ \n]{1,2})?(?:previously|earlier|already)[ \n]{1,2}(?:have[ \n]{1,2})?(?:showed|shown|proved|proven|described|reported|introduced|presented|proposed|published)\b/gi

/** Rules of `double_blind`: what shows reviewers who the authors are. */
export const DOUBLE_BLIND_RULES: readonly Rule[] = [
  authorNames,
  affiliations,
  inText('double_blind_email', 'an e-mail address', emailOffsets),
  inText('double_blind_orcid', 'an ORCID', text => [
    ...offsetsOf(text, ORCID).filter(at => isOrcid(text.slice(at, at + 19))),
    ...offsetsOf(text, ORCID_URL)
  ]),
  repositories,
  inText('double_blind_acknowledgements', 'acknowledgements', text => [
    ...offsetsOf(text, HEADING),
    ...offsetsOf(text, THANKS)
  ]),
  inText('double_blind_funding', 'a funder', text => offsetsOf(text, FUNDING), warning),
  inText('double_blind_self_citation', 'work as that of the authors', text => [
    ...offsetsOf(text, OWN_WORK),
    ...offsetsOf(text, WE_SHOWED)
  ]),
  ownCitations
]

/** Texts that reviewers read. */
function texts({ content }: Subject): readonly (readonly [string, string])[] {
  return [
    ['title', content.title],
    ['abstract', content.abstract_text ?? ''],
    ['text', content.body_markdown]
  ]
}

function inText(code: string, what: string, find: (text: string) => number[], severity = error): Rule {
  return subject =>
    texts(subject).flatMap(([name, text]) => {
      const offsets = find(text).sort((a, b) => a - b)
      return offsets.length === 0 ? [] : [severity(code, `The ${name} names ${what} (${places(text, offsets)}).`)]
    })
}

function authorNames(subject: Subject): PreflightFinding[] {
  const forms = subject.creators.flatMap(formsOf)
  const surnames = subject.creators.map(surnameOf).filter(each => each.length >= MIN_SURNAME_CHARACTERS)
  const length = texts(subject).reduce((sum, [, text]) => sum + text.length, 0)
  if (length * (forms.length + surnames.length) > MAX_SEARCHED)
    return [error('double_blind_unchecked', 'The text is too long to search it for the names of so many creators.')]
  if ([...forms, ...surnames].some(isLong))
    return [error('double_blind_unchecked', `A creator has a name of more than ${MAX_NAME_CHARACTERS} characters.`)]
  return texts(subject).flatMap(([name, text]) => {
    const search = folded(text)
    const full = forms.filter(each => indexOfWord(search, each) !== -1)
    if (full.length > 0) return [error('double_blind_author_name', `The ${name} names an author: ${listed(full)}.`)]
    const found = surnames.filter(each => indexOfWord(text, each) !== -1)
    return found.length === 0
      ? []
      : [warning('double_blind_author_surname', `The ${name} has the surname of an author: ${listed(found)}.`)]
  })
}

function affiliations(subject: Subject): PreflightFinding[] {
  const names = subject.creators.flatMap(({ affiliation }) => (affiliation === null ? [] : [folded(affiliation)]))
  const known = [...new Set(names)].filter(each => each.length >= MIN_AFFILIATION_CHARACTERS)
  const length = texts(subject).reduce((sum, [, text]) => sum + text.length, 0)
  if (length * known.length > MAX_SEARCHED)
    return [error('double_blind_unchecked', 'The text is too long to search it for so many affiliations.')]
  if (known.some(isLong))
    return [error('double_blind_unchecked', `An affiliation has more than ${MAX_NAME_CHARACTERS} characters.`)]
  return texts(subject).flatMap(([name, text]) => {
    const search = folded(text)
    const found = known.filter(each => indexOfWord(search, each) !== -1)
    return found.length === 0
      ? []
      : [error('double_blind_affiliation', `The ${name} names an affiliation: ${listed(found)}.`)]
  })
}

/** Addresses of code that name an author or the repository of the metadata are errors, all others are warnings. */
function repositories(subject: Subject): PreflightFinding[] {
  const own = [subject.metadata?.repository, subject.metadata?.code_repository, subject.metadata?.homepage]
    .filter(each => typeof each === 'string')
    .map(each => folded(each.replace(/^https?:\/\/(?:www\.)?/i, '').replace(/\/$/, '')))
    .filter(each => each.length >= MIN_SURNAME_CHARACTERS)
  const names = subject.creators
    .map(each => folded(surnameOf(each)))
    .filter(each => each.length >= MIN_SURNAME_CHARACTERS)
  return texts(subject).flatMap(([name, text]) => {
    const offsets = offsetsOf(text, HOSTED)
    const owned = offsets.filter(at => {
      const address = folded(text.slice(at, at + 300).split(/[\s()<>[\]"'`]/, 1)[0] ?? '')
      return [...own, ...names].some(each => address.includes(each))
    })
    if (owned.length > 0)
      return [
        error(
          'double_blind_repository_url',
          `The ${name} links to a repository of the authors (${places(text, owned)}).`
        )
      ]
    return offsets.length === 0
      ? []
      : [
          warning(
            'double_blind_repository_url',
            `The ${name} links to a repository (${places(text, offsets)}); its owner may be an author.`
          )
        ]
  })
}

function ownCitations({ citations, creators }: Subject): PreflightFinding[] {
  const surnames = new Set(creators.map(each => folded(surnameOf(each))).filter(each => each !== ''))
  const own = (citations ?? []).filter(({ author }) =>
    Array.isArray(author) ? author.some(each => surnames.has(familyOf(each))) : false
  ).length
  return own === 0
    ? []
    : [warning('double_blind_own_citation', `${own} citations are by an author; cite them like the work of others.`)]
}

function familyOf(author: unknown): string {
  const { family, literal } = objectOf(author) ?? {}
  const name = typeof family === 'string' ? family : typeof literal === 'string' ? literal : ''
  return folded(name.slice(0, 200)).trim()
}

function isLong(name: string): boolean {
  return name.length > MAX_NAME_CHARACTERS
}

/** Returns the ways in which a text names a creator in full. */
function formsOf(creator: Creator): string[] {
  const family = surnameOf(creator)
  const given = givenOf(creator)
  if (family === '' || given === '') return creator.name.length < MIN_SURNAME_CHARACTERS ? [] : [folded(creator.name)]
  return [`${given} ${family}`, `${family}, ${given}`, `${given.slice(0, 1)}. ${family}`].map(folded)
}

function surnameOf({ name }: Creator): string {
  const comma = name.indexOf(',')
  return comma === -1 ? (name.split(/\s+/).at(-1) ?? '') : name.slice(0, comma).trim()
}

function givenOf({ name }: Creator): string {
  const comma = name.indexOf(',')
  return comma === -1 ? name.split(/\s+/).slice(0, -1).join(' ') : name.slice(comma + 1).trim()
}

function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMED
  return `${names.slice(0, MAX_NAMED).join('; ')}${more > 0 ? ` and ${more} more` : ''}`
}
