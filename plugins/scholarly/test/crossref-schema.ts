import { join } from 'node:path'
import {
  type ErrorDetail,
  XmlBufferInputProvider,
  XmlDocument,
  XmlValidateError,
  XsdValidator,
  xmlRegisterInputProvider
} from 'libxml2-wasm'
import { list } from 'tar'

export const FIXTURES = join(import.meta.dirname, 'fixtures/crossref')

const BASE = 'https://data.crossref.org/schemas/'
const MATHML = 'http://www.w3.org/Math/XMLSchema/mathml3/'

/** Returns a function that returns the errors of a document against Crossref's deposit schema 5.4.0. */
export async function openSchema(): Promise<(xml: string) => readonly string[]> {
  const files = new Map<string, Uint8Array>()
  await list({
    file: join(FIXTURES, 'schemas-5.4.0.tar.gz'),
    onReadEntry: entry => {
      const parts: Buffer[] = []
      entry.on('data', part => parts.push(part))
      entry.on('end', () => files.set(entry.path.replace(/^schemas\//, BASE), Buffer.concat(parts)))
    }
  })
  const main = files.get(`${BASE}crossref5.4.0.xsd`)
  const namespace = files.get(`${BASE}standard-modules/xml.xsd`)
  if (main === undefined || namespace === undefined) throw new Error('the archive of schemas is incomplete')
  files.set('http://www.w3.org/2009/01/xml.xsd', namespace)
  for (const [name, content] of [...files])
    if (name.includes('/mathml3/')) files.set(`${MATHML}${name.split('/').at(-1)}`, content)
  if (!xmlRegisterInputProvider(new XmlBufferInputProvider(Object.fromEntries(files))))
    throw new Error('the schemas cannot be registered')
  const schema = XmlDocument.fromBuffer(main, { url: `${BASE}crossref5.4.0.xsd` })
  const validator = XsdValidator.fromDoc(schema)
  return xml => {
    const document = XmlDocument.fromString(xml)
    try {
      validator.validate(document)
      return []
    } catch (error) {
      if (!(error instanceof XmlValidateError)) throw error
      return error.details.map(({ line, message }: ErrorDetail) => `line ${line}: ${message.trim()}`)
    } finally {
      document.dispose()
    }
  }
}
