/** Body of a form with files in memory (RFC 7578). */
export interface MultipartBody {
  readonly contentType: string
  readonly body: Uint8Array
}

export interface MultipartFile {
  readonly field: string
  readonly fileName: string
  readonly contentType: string
  readonly content: Uint8Array
}

/** Returns a form with fields and one file. */
export function multipart(fields: Readonly<Record<string, string>>, file: MultipartFile): MultipartBody {
  const boundary = `svc-${crypto.randomUUID()}`
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"\r\n\r\n${value}\r\n`
  )
  const head =
    `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(file.field)}"; filename="${quoted(file.fileName)}"\r\n` +
    `content-type: ${file.contentType}\r\n\r\n`
  const body = Buffer.concat([
    Buffer.from(parts.join('') + head, 'utf8'),
    file.content,
    Buffer.from(`\r\n--${boundary}--\r\n`, 'utf8')
  ])
  return { contentType: `multipart/form-data; boundary=${boundary}`, body }
}

function quoted(text: string): string {
  return text.replace(/["\r\n]/g, found => encodeURIComponent(found))
}
