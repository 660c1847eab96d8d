import { deflateSync } from 'node:zlib'

export interface PdfParts {
  readonly title?: string
  /** Further entries of the trailer. */
  readonly trailer?: string
  /** Content stream of all pages with its filters, instead of the text of pages. */
  readonly stream?: { readonly data: Buffer; readonly filter: string }
}

/** Returns a PDF document with a page for each text. Texts have no parentheses. */
export function pdfFile(pages: readonly string[], { title, trailer = '', stream }: PdfParts = {}): Buffer {
  const parts = [Buffer.from('%PDF-1.4\n')]
  const places: number[] = []
  const length = (): number => parts.reduce((sum, part) => sum + part.length, 0)
  const add = (number: number, ...body: (string | Buffer)[]): void => {
    places[number] = length()
    parts.push(Buffer.from(`${number} 0 obj\n`), ...body.map(each => Buffer.from(each)), Buffer.from('\nendobj\n'))
  }
  const first = 5
  const kids = pages.map((_, at) => `${first + 2 * at} 0 R`).join(' ')
  add(1, '<</Type/Catalog/Pages 2 0 R>>')
  add(2, `<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>`)
  add(3, '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>')
  add(4, title === undefined ? '<<>>' : `<</Title(${title})>>`)
  for (const [at, text] of pages.entries()) {
    const lines = text.split('\n').map(line => `(${line}) Tj 0 -14 Td`)
    const data = stream?.data ?? deflateSync(`BT /F1 12 Tf 50 700 Td ${lines.join(' ')} ET`)
    const filter = stream?.filter ?? '/FlateDecode'
    const number = first + 2 * at
    add(
      number,
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>/Contents ${number + 1} 0 R>>`
    )
    add(number + 1, `<</Length ${data.length}/Filter[${filter}]>>\nstream\n`, data, '\nendstream')
  }
  const start = length()
  const rows = places.map((place, number) => (number === 0 ? '' : `${String(place).padStart(10, '0')} 00000 n \n`))
  parts.push(
    Buffer.from(
      `xref\n0 ${places.length}\n0000000000 65535 f \n${rows.join('')}trailer<</Size ${places.length}/Root 1 0 R/Info 4 0 R${trailer}>>\nstartxref\n${start}\n%%EOF`
    )
  )
  return Buffer.concat(parts)
}

/** Returns spaces, compressed twice: few bytes that become `bytes`. */
export function deflatedTwice(bytes: number): Buffer {
  return deflateSync(deflateSync(Buffer.alloc(bytes, ' '), { level: 1 }))
}
