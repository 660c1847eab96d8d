export { recordKey } from './channels/bluesky.ts'
export { newsErrors } from './errors.ts'
export {
  NEWS_TOPIC,
  newsFeed,
  newsInbox,
  newsItems,
  newsPreview,
  newsPublish,
  newsResolve,
  newsScan,
  newsStatus
} from './operations/operations.ts'
export { sideBySide } from './operations/side-by-side.ts'
export { spansOf } from './text/addresses.ts'
export { cutText } from './text/cut.ts'
export {
  codePoints,
  fits,
  graphemes,
  lengthOf,
  mastodonCharacters,
  utf8Bytes,
  weightedCharacters
} from './text/meters.ts'
export { splitThread } from './text/thread.ts'
