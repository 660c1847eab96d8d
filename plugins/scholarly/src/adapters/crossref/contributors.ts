import { type Creator, collapse } from '../work.ts'
import { allowed, element, type XmlElement } from './xml.ts'

/** Pattern of names in the deposit schema: digits only in one place, no question marks. */
const NAME = /^[^\d?]*[^?\s]+[^\d]*$/
const MAX_NAME = 60

/** Returns `<contributors>`, or null without creators. */
export function contributors(creators: readonly Creator[]): XmlElement | null {
  const known = creators.map((creator, index) => contributor(creator, index)).filter(each => each !== null)
  return known.length === 0 ? null : element('contributors', {}, ...known)
}

/** Returns a person, or an organization if the name is not one that the schema accepts for persons. */
function contributor(creator: Creator, index: number): XmlElement | null {
  const attributes = { sequence: index === 0 ? 'first' : 'additional', contributor_role: 'author' }
  const family = allowed(creator.family).trim()
  const given = creator.given === null ? null : allowed(creator.given).trim()
  if (!fits(family) || (given !== null && !fits(given))) {
    const name = truncated(collapse(`${given ?? ''} ${family}`), 511)
    return name === '' ? null : element('organization', attributes, name)
  }
  const { affiliation, orcid } = creator
  const institution = affiliation === null ? '' : truncated(allowed(affiliation).trim(), 1024)
  return element(
    'person_name',
    attributes,
    given === null ? null : element('given_name', {}, given),
    element('surname', {}, family),
    institution === ''
      ? null
      : element('affiliations', {}, element('institution', {}, element('institution_name', {}, institution))),
    orcid === null ? null : element('ORCID', {}, `https://orcid.org/${orcid}`)
  )
}

function fits(name: string): boolean {
  return name !== '' && [...name].length <= MAX_NAME && NAME.test(name)
}

/** Returns the beginning of text: `max` code points, as XML schemas count them. */
export function truncated(text: string, max: number): string {
  const points = [...text]
  return points.length <= max ? text : points.slice(0, max).join('')
}
