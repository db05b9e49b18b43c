// Where in which story the page is: screens tell it, the shell and the palette read it.
class Place {
  chat = $state<string | null>(null);
  title = $state('');
  /** The turn that was shown last. */
  turn = $state<number | null>(null);
  /** The character that the model speaks for there. */
  speaker = $state<string | null>(null);
  /** Whether this server remembers. */
  hasMemory = $state(false);
  /** What the top bar shows after the story's title. */
  crumb = $state('');

  enter(chat: string): void {
    if (this.chat === chat) return;
    this.chat = chat;
    this.title = '';
    this.turn = null;
    this.speaker = null;
  }
}

export const place = new Place();
