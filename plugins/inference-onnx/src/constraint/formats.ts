const month = '(?:0[1-9]|1[0-2])'
const leapYear = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)'
const date = [
  `\\d{4}-${month}-(?:0[1-9]|1\\d|2[0-8])`,
  '\\d{4}-(?:0[13-9]|1[0-2])-(?:29|30)',
  '\\d{4}-(?:0[13578]|1[02])-31',
  `${leapYear}-02-29`
].join('|')
const clock = '(?:[01]\\d|2[0-3]):[0-5]\\d'
const time = `${clock}:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]${clock})`
const label = '[a-z\\d](?:[a-z\\d-]{0,61}[a-z\\d])?'
const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const mailbox = "[A-Za-z\\d!#$%&'*+/=?^_`{|}~-]{1,24}"

/** Regular expressions for whole strings, by `format`. Dates and times follow RFC 3339. */
export const formats: ReadonlyMap<string, string> = new Map([
  ['date', date],
  ['time', time],
  ['date-time', `(?:${date})T${time}`],
  ['email', `${mailbox}(?:\\.${mailbox}){0,2}@${label}(?:\\.${label}){1,3}`],
  ['hostname', `${label}(?:\\.${label}){0,3}`],
  ['ipv4', `${octet}(?:\\.${octet}){3}`],
  ['uuid', '[\\da-fA-F]{8}(?:-[\\da-fA-F]{4}){3}-[\\da-fA-F]{12}']
])
