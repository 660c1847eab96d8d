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
export {
  codePoints,
  cutText,
  fits,
  graphemes,
  lengthOf,
  mastodonCharacters,
  spansOf,
  splitThread,
  utf8Bytes,
  weightedCharacters
} from './text/index.ts'
