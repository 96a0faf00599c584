use super::text::{cut, cut_end, width, wrap};
use super::*;
use model::{Cell, Column, Node, Tree, Unit};

fn narrow(width: usize) -> TerminalStyle {
    TerminalStyle { width, colour: Colour::Never }
}

fn processes() -> Table {
    let mut table = Table::new([
        Column::new("pid", "PID", Unit::Id),
        Column::new("name", "Name", Unit::Text),
        Column::new("memory", "Memory", Unit::Bytes),
        Column::new("command", "Command", Unit::Text),
    ]);
    table.push([
        Cell::from(7u32),
        Cell::from("shop-api"),
        Cell::from(1_200_000u64),
        Cell::from("dotnet shop-api.dll --urls http://+:8080 --environment Production"),
    ]);
    table.push([
        Cell::from(12345u32),
        Cell::from("a-worker-with-a-long-name"),
        Cell::Missing,
        Cell::from("./worker"),
    ]);
    table
}

#[test]
fn the_widest_text_gives_way_first() {
    let expected = [
        "  PID  Name                    Memory  Command",
        "    7  shop-api                1.2 MB  dotnet shop-api.dll…",
        "12345  a-worke…th-a-long-name       -  ./worker",
    ];
    let text = render_table(&processes(), &narrow(60), LastColumn::Shares);
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_last_column_fills_the_line() {
    let expected = [
        "  PID  Name                       Memory  Command",
        "    7  shop-api                   1.2 MB  dotnet shop-api.d…",
        "12345  a-worker-with-a-long-name       -  ./worker",
    ];
    let text = render_table(&processes(), &narrow(60), LastColumn::Fills);
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn without_a_limit_nothing_is_cut() {
    let text = render_table(&processes(), &narrow(usize::MAX), LastColumn::Fills);
    assert!(text.contains("--environment Production\n"), "{text}");
}

#[test]
fn empty_and_shortened_tables_say_so() {
    let mut table = Table::new([Column::new("pid", "PID", Unit::Id)]);
    assert_eq!(render_table(&table, &narrow(40), LastColumn::Shares), "(none)\n");
    table.push([Cell::from(1u32)]);
    table.omitted_rows = 1;
    assert_eq!(render_table(&table, &narrow(40), LastColumn::Shares), "PID\n  1\n… and 1 more row\n");
    table.omitted_rows = 1200;
    assert!(render_table(&table, &narrow(40), LastColumn::Shares).ends_with("… and 1,200 more rows\n"));
}

#[test]
fn a_table_with_far_too_many_columns_stays_on_the_page() {
    let columns = (0..60).map(|index| Column::new("c", &format!("Column {index}"), Unit::Count));
    let mut table = Table::new(columns);
    table.push((0..60u64).map(|number| Cell::from(number * 1_000_000)));
    for line in render_table(&table, &narrow(80), LastColumn::Shares).lines() {
        assert!(width(line) <= 80, "{line}");
    }
}

#[test]
fn names_are_cut_in_the_middle_and_sentences_at_the_end() {
    assert_eq!(cut("Microsoft.AspNetCore.Server.Kestrel", 20), "Micros…erver.Kestrel");
    assert_eq!(cut("Shop.Orders.Book.Add(Order order)", 24), "Shop.Orders.Book.Add(Or…");
    assert_eq!(cut("Shop.Orders.Book.Add(Order order)", 16), "Shop.…s.Book.Add");
    assert_eq!(cut("the quick brown fox jumps", 20), "the quick brown fox…");
    assert_eq!(cut("日本語日本語", 5), "日本…");
    assert_eq!(cut_end("abc", 0), "");
    assert_eq!(cut_end("abc", 1), "…");
}

#[test]
fn text_is_wrapped_at_spaces_and_long_words_anywhere() {
    assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
    assert_eq!(wrap("日本語", 4), ["日本", "語"]);
    assert_eq!(wrap("", 4), [""]);
}

#[test]
fn a_large_tree_shows_its_heaviest_nodes() {
    let leaf = |weight: u64| Node {
        label: format!("N{weight}"),
        values: vec![Cell::Number(weight)],
        children: Vec::new(),
    };
    let children = (1..=1000).map(leaf).collect();
    let root = Node { label: "Root".to_owned(), values: vec![Cell::Number(500_500)], children };
    let tree = Tree { columns: vec![Column::new("n", "Count", Unit::Count)], roots: vec![root] };
    let mut page = Page::new(&narrow(60));
    tree::draw(&mut page, &tree, 2, tree::HEAVIEST);
    let text = page.finish();
    assert!(text.contains("Root") && text.contains("└─ N1000") && !text.contains("N971"), "{text}");
    assert!(text.contains("… and 971 smaller nodes"), "{text}");
}

#[test]
fn a_deep_tree_stays_on_the_page() {
    let mut node = Node { label: "Deepest".to_owned(), values: vec![Cell::Number(1)], children: Vec::new() };
    for depth in (0..20).rev() {
        let label = format!("Some.Namespace.With.A.Name.Level{depth}");
        node = Node { label, values: vec![Cell::Number(1)], children: vec![node] };
    }
    let tree = Tree { columns: vec![Column::new("n", "Count", Unit::Count)], roots: vec![node] };
    let mut page = Page::new(&narrow(60));
    tree::draw(&mut page, &tree, 2, tree::HEAVIEST);
    let text = page.finish();
    assert!(text.lines().all(|line| width(line) <= 60), "{text}");
    assert!(text.contains("[20] Deepest"), "{text}");
}

#[test]
fn colour_only_paints() {
    let painted =
        render_table(&processes(), &TerminalStyle { width: 60, colour: Colour::Always }, LastColumn::Shares);
    assert!(painted.contains("\u{1b}[2m"), "{painted:?}");
    let stripped: String = painted
        .split('\u{1b}')
        .map(|part| part.strip_prefix('[').map_or(part, |p| &p[p.find('m').unwrap() + 1..]))
        .collect();
    assert_eq!(stripped, render_table(&processes(), &narrow(60), LastColumn::Shares));
}
