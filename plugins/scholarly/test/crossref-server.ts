import { parseXml, XmlElement } from '@rgrove/parse-xml'
import { ArchiveServer, type Exchange } from './archive-server.ts'

export const LOGIN = 'depositor@example.org/role'
export const PASSWORD = 'cr-pw-51d2-never-printed'

const HTML = { 'content-type': 'text/html;charset=UTF-8' }
const XML = { 'content-type': 'text/xml;charset=UTF-8' }

interface Submission {
  readonly fileName: string
  readonly batchId: string
  readonly doi: string
  readonly timestamp: bigint
  readonly xml: string
  /** Look-ups until the log changes from unknown over queued to completed. */
  lookUps: number
  result: { readonly status: 'Success' | 'Failure' | 'Warning'; readonly message: string } | null
}

/**
 * The deposit system of Crossref. Formats: https://www.crossref.org/documentation/register-maintain-records/direct-deposit-xml/https-post/
 * (form fields), support article 217515926 "Using HTTPS to retrieve logs" (`submissionDownload`), and "Interpret
 * submission logs" (`doi_batch_diagnostic`, and the rule that a timestamp must increase). The page of a received form
 * contains SUCCESS, that of a refused one FAILURE; both have the status 200.
 */
export class CrossrefServer extends ArchiveServer {
  readonly submissions: Submission[] = []
  /** Registered DOIs with the timestamps of all updates that were accepted. */
  readonly registered = new Map<string, bigint[]>()
  /** Look-ups for which a received submission is still unknown, and then queued. */
  lag = { unknown: 0, queued: 0 }
  /** Message with which the next submission is rejected. */
  reject: string | null = null

  constructor() {
    super(exchange => this.#route(exchange))
  }

  async #route(exchange: Exchange): Promise<void> {
    const { method, url, answer } = exchange
    if (method === 'POST' && url.pathname === '/servlet/deposit') return await this.#deposit(exchange)
    if (method === 'GET' && url.pathname === '/servlet/submissionDownload') return this.#log(exchange)
    answer(404, 'Not found', HTML)
  }

  async #deposit({ request, seen, chunks, answer }: Exchange): Promise<void> {
    const parts: Buffer[] = []
    for await (const chunk of chunks()) parts.push(chunk)
    const form = formOf(request.headers['content-type'] ?? '', Buffer.concat(parts).toString('utf8'))
    seen.body = form
    if (form === null) return answer(400, '<h2>FAILURE</h2><p>Not a form</p>', HTML)
    const { operation, login_id, login_passwd, fname } = form
    if (login_id !== LOGIN || login_passwd !== PASSWORD)
      return answer(200, '<h2>FAILURE</h2><p>Incorrect login or password</p>', HTML)
    if (operation !== 'doMDUpload' || fname === undefined || form['fname.name'] === undefined)
      return answer(200, '<h2>FAILURE</h2><p>The submission has no content</p>', HTML)
    const root = parseXml(fname).root
    const submission: Submission = {
      fileName: form['fname.name'],
      batchId: textAt(root, 'doi_batch_id'),
      doi: textAt(root, 'doi_data', 'doi'),
      timestamp: BigInt(textAt(root, 'timestamp')),
      xml: fname,
      lookUps: 0,
      result: null
    }
    this.submissions.push(submission)
    answer(
      200,
      '<html><body><h2>SUCCESS</h2><p>Your batch submission was successfully received.</p></body></html>',
      HTML
    )
  }

  #log({ url, answer }: Exchange): void {
    const query = url.searchParams
    if (query.get('usr') !== LOGIN || query.get('pwd') !== PASSWORD) answer(401, 'Unauthorized', HTML)
    else if (query.get('type') !== 'result') answer(400, 'type is mandatory', HTML)
    else answer(200, this.#logOf(query.get('file_name') ?? ''), XML)
  }

  #logOf(fileName: string): string {
    // Only the first match is returned.
    const found = this.submissions.find(each => each.fileName === fileName)
    const { unknown, queued } = this.lag
    if (found === undefined || ++found.lookUps <= unknown)
      return '<?xml version="1.0"?><doi_batch_diagnostic status="unknown_submission"></doi_batch_diagnostic>'
    if (found.lookUps <= unknown + queued)
      return `<doi_batch_diagnostic status="queued"><batch_id>${found.batchId}</batch_id></doi_batch_diagnostic>`
    const { status, message } = this.#process(found)
    const ok = status === 'Failure' ? 0 : 1
    return `<?xml version="1.0" encoding="UTF-8"?>
<doi_batch_diagnostic status="completed" sp="cs4">
  <submission_id>${1_400_000_000 + this.submissions.indexOf(found)}</submission_id>
  <batch_id>${found.batchId}</batch_id>
  <record_diagnostic status="${status}"><doi>${found.doi}</doi><msg>${message}</msg></record_diagnostic>
  <batch_data>
    <record_count>1</record_count><success_count>${ok}</success_count>
    <warning_count>0</warning_count><failure_count>${1 - ok}</failure_count>
  </batch_data>
</doi_batch_diagnostic>`
  }

  /** Processes the queue up to a submission, in order. */
  #process(last: Submission): NonNullable<Submission['result']> {
    for (const each of this.submissions) {
      each.result ??= this.#resultOf(each)
      if (each === last) return each.result
    }
    throw new Error('unreachable')
  }

  #resultOf({ doi, timestamp }: Submission): NonNullable<Submission['result']> {
    if (this.reject !== null) {
      const message = this.reject
      this.reject = null
      return { status: 'Failure', message }
    }
    const earlier = this.registered.get(doi) ?? []
    const last = earlier.at(-1)
    if (last !== undefined && timestamp <= last)
      return {
        status: 'Failure',
        message: `Record not processed because submitted version: ${timestamp} is less or equal to previously submitted version (DOI match)`
      }
    this.registered.set(doi, [...earlier, timestamp])
    return { status: 'Success', message: earlier.length === 0 ? 'Successfully added' : 'Successfully updated' }
  }

  /** Processes all submissions. */
  settle(): void {
    const last = this.submissions.at(-1)
    if (last !== undefined) this.#process(last)
  }
}

/** Parses a form (RFC 7578); the name of a file is in `FIELD.name`. */
export function formOf(contentType: string, body: string): Record<string, string> | null {
  const boundary = /^multipart\/form-data; boundary=([\w-]{1,70})$/.exec(contentType)?.[1]
  if (boundary === undefined || !body.endsWith(`\r\n--${boundary}--\r\n`)) return null
  const form: Record<string, string> = {}
  for (const part of `\r\n${body}`.split(`\r\n--${boundary}`).slice(1, -1)) {
    const end = part.indexOf('\r\n\r\n')
    const name = /name="([^"]*)"/.exec(part.slice(0, end))?.[1]
    if (name === undefined) return null
    form[name] = part.slice(end + 4)
    const fileName = /filename="([^"]*)"/.exec(part.slice(0, end))?.[1]
    if (fileName !== undefined) form[`${name}.name`] = fileName
  }
  return form
}

/** Returns the text of the first element with the last name, below one with each earlier name. */
function textAt(root: XmlElement | null, ...names: string[]): string {
  let at: XmlElement | undefined = root ?? undefined
  for (const name of names) at = at === undefined ? undefined : descendant(at, name)
  if (at === undefined) throw new Error(`no element ${names.join('/')}`)
  return at.text.trim()
}

function descendant(parent: XmlElement, name: string): XmlElement | undefined {
  for (const child of parent.children) {
    if (!(child instanceof XmlElement)) continue
    if (child.name === name) return child
    const found = descendant(child, name)
    if (found !== undefined) return found
  }
  return undefined
}
