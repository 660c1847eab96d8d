/** Page with an entry for each error code of svc; tools/reference/errors-page.ts writes it. */
const ERROR_PAGE = 'https://github.com/vox-foundation/vox/blob/main/docs/reference/errors.md'

/** First words of the codes that svc itself defines. */
const PREFIXES = new Set(
  (
    'A2S APP ASI BKP BKR BRW CFG CLI CMP CPG CRD DBP DBS DMN DSH EXE FLT FNA GWY HTTP ICL INF IRT KRN LDR MCP MND MSC MSG MSH MSP ' +
    'MSV NEWS OBS OPR ORC OTL PLN PRV PUB QST RUN RWD SCH SCR SEC SES SEV SKG SPC SPP SRH SRV STB SUP TEL UPD WEB WSP'
  ).split(' ')
)

/** Part of an error that its page depends on. */
interface DocumentedError {
  readonly code: string
  readonly docs?: string
}

/** Returns the URL that explains an error: its own, or that of its code if svc defines it. */
export function errorDocs({ code, docs }: DocumentedError): string | undefined {
  return docs ?? (isOwnCode(code) ? `${ERROR_PAGE}#${code.toLowerCase()}` : undefined)
}

/** True for codes that svc defines, which `svc errors explain` knows. Codes of other authors have other prefixes. */
export function isOwnCode(code: string): boolean {
  return PREFIXES.has(code.slice(0, code.indexOf('_')))
}
