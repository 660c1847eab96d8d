/** Form with one file (RFC 7578): what comes before and after the content of the file. */
export interface MultipartForm {
  readonly contentType: string
  readonly before: Uint8Array
  readonly after: Uint8Array
}

export interface MultipartFile {
  readonly field: string
  readonly fileName: string
  readonly contentType: string
}

export function multipart(fields: Readonly<Record<string, string>>, file: MultipartFile): MultipartForm {
  const boundary = `svc-${crypto.randomUUID()}`
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"\r\n\r\n${value}\r\n`
  )
  const head =
    `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(file.field)}"; filename="${quoted(file.fileName)}"\r\n` +
    `content-type: ${file.contentType}\r\n\r\n`
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    before: Buffer.from(parts.join('') + head, 'utf8'),
    after: Buffer.from(`\r\n--${boundary}--\r\n`, 'utf8')
  }
}

function quoted(text: string): string {
  return text.replace(/["\r\n]/g, found => encodeURIComponent(found))
}
